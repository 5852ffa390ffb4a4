// The live schedule: which position is asked about, and which answer is still of interest.

/** A position in a document; lines and characters count from 0. */
export interface Place {
  uri: string;
  line: number;
  character: number;
}

/** The answer to `tvms/scheduled`: the function of a schedule after some of its steps. */
export interface Scheduled {
  name: string;
  steps: number;
  text: string;
}

export const IDLE_MILLISECONDS = 120;
/** What is shown before the cursor was in a schedule. */
export const INVITATION = "# Move the cursor into an S.schedule: its function after the line of the cursor is shown here.\n";

/** Returns the document that shows a schedule after some of its steps. */
export function page(scheduled: Scheduled): string {
  const steps = scheduled.steps === 1 ? "1 step" : `${scheduled.steps} steps`;
  return `# ${scheduled.name} after ${steps}\n${scheduled.text.trimEnd()}\n`;
}

/**
 * Asks for the schedule at the cursor, once it rests, and shows the answer to the latest question.
 *
 * While the cursor is outside of schedules, and while a text cannot be read, the last schedule stays.
 */
export class LiveSchedule {
  text = INVITATION;
  private question = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly ask: (place: Place) => Promise<Scheduled | null>,
    private readonly show: () => void,
    private readonly idle = IDLE_MILLISECONDS,
  ) {}

  /** Tells that the cursor or the text has changed. */
  moved(place: Place): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(place), this.idle);
  }

  /** Asks at once. */
  async update(place: Place): Promise<void> {
    const question = ++this.question;
    let answer: Scheduled | null;
    try {
      answer = await this.ask(place);
    } catch {
      return; // the document was closed, or the server ends: both are reported elsewhere
    }
    if (question !== this.question || answer === null || page(answer) === this.text) {
      return;
    }
    this.text = page(answer);
    this.show();
  }

  /** Drops what is not answered yet. */
  stop(): void {
    clearTimeout(this.timer);
    this.question++;
  }
}
