; The thread pool of parallel loops; `pool.py` describes it, and sets the names in capitals.

; A slot: the next iteration that nobody has taken, the end of the slot, the size of its pieces. Each has a cache line.
%slot = type { i64, i64, i64, [5 x i64] }
; A job: the next job, the body, its closure, the slots, their number, the status, the number of workers that execute pieces,
; whether there may be pieces left, the condition that no worker executes a piece, and the CPU of the caller.
%job = type { ptr, ptr, ptr, ptr, i32, i32, i32, i32, [8 x i64], i32 }
; A worker: the next sleeping worker, its thread, the CPU on which it went to sleep, whether it sleeps, whether it must restore
; its CPU mask, that mask, and the condition that it was woken.
%worker = type { ptr, ptr, i32, i32, i32, [16 x i64], [8 x i64] }

@tvms_lock = internal global [8 x i64] zeroinitializer, align 64
; Under the lock: the jobs, newest first; how many workers were started; the sleeping workers, the last to go to sleep first.
@tvms_jobs = internal global ptr null
@tvms_started = internal global i32 0
@tvms_sleeping = internal global ptr null
; How many jobs there have been: what a spinning worker watches.
@tvms_posted = internal global i32 0, align 64
; The process that the state above belongs to; 0 before the first job, -1 during initialization.
@tvms_process = internal global i32 0
; The time until which loops run alone, and how many times as long as a long wait that is.
@tvms_alone = internal global i64 0, align 64
@tvms_penalty = internal global i64 0
@$THREADS = global i32 0

@tvms_variable = internal constant [17 x i8] c"TVMS_NUM_THREADS\00"
@tvms_openmp_variable = internal constant [16 x i8] c"OMP_NUM_THREADS\00"

declare i32 @getpid()
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_destroy(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare ptr @pthread_self()

; Execute a loop: see `codegen/llvm/parallel.py`.
define i32 @$PARALLEL(ptr %body, ptr %closure, i64 %extent, i32 %threads) {
  %is.default = icmp eq i32 %threads, 0
  br i1 %is.default, label %default, label %known

default:
  %usual = call i32 @tvms_default_count()
  br label %known

known:
  %wanted = phi i32 [ %threads, %0 ], [ %usual, %default ]
  %wide = zext i32 %wanted to i64
  %is.short = icmp slt i64 %extent, %wide
  %least = select i1 %is.short, i64 %extent, i64 %wide
  %is.alone = icmp slt i64 %least, 2
  br i1 %is.alone, label %alone, label %several

several:
  %until = load atomic i64, ptr @tvms_alone monotonic, align 8
  %is.free = icmp eq i64 %until, 0
  br i1 %is.free, label %together, label %crowded

crowded:
  %now = call i64 @tvms_now()
  %is.early = icmp slt i64 %now, %until
  br i1 %is.early, label %alone, label %together

alone:
  %own = call i32 %body(ptr %closure, i64 0, i64 %extent)
  ret i32 %own

together:
  %count = trunc i64 %least to i32
  %job = alloca %job, align 64
  %slots = alloca %slot, i32 %count, align 64
  %woken = alloca ptr, i32 %count
  %body.at = getelementptr %job, ptr %job, i32 0, i32 1
  store ptr %body, ptr %body.at
  %closure.at = getelementptr %job, ptr %job, i32 0, i32 2
  store ptr %closure, ptr %closure.at
  %slots.at = getelementptr %job, ptr %job, i32 0, i32 3
  store ptr %slots, ptr %slots.at
  %count.at = getelementptr %job, ptr %job, i32 0, i32 4
  store i32 %count, ptr %count.at
  %status.at = getelementptr %job, ptr %job, i32 0, i32 5
  store i32 0, ptr %status.at
  %active.at = getelementptr %job, ptr %job, i32 0, i32 6
  store i32 0, ptr %active.at
  %open.at = getelementptr %job, ptr %job, i32 0, i32 7
  store i32 1, ptr %open.at
  %finished = getelementptr %job, ptr %job, i32 0, i32 8
  call i32 @pthread_cond_init(ptr %finished, ptr null)
  %here = call i32 @tvms_cpu()
  %here.at = getelementptr %job, ptr %job, i32 0, i32 9
  store i32 %here, ptr %here.at
  %share = udiv i64 %extent, %least
  %rest = urem i64 %extent, %least
  br label %divide

divide:                                                ; the first %rest slots have one iteration more
  %number = phi i64 [ 0, %together ], [ %number.next, %divide ]
  %begin = phi i64 [ 0, %together ], [ %end, %divide ]
  %is.longer = icmp ult i64 %number, %rest
  %more = zext i1 %is.longer to i64
  %size = add i64 %share, %more
  %end = add i64 %begin, %size
  %slot = getelementptr %slot, ptr %slots, i64 %number
  store i64 %begin, ptr %slot
  %end.at = getelementptr %slot, ptr %slot, i32 0, i32 1
  store i64 %end, ptr %end.at
  %eighth = udiv i64 %size, $PIECES
  %piece = call i64 @llvm.umax.i64(i64 %eighth, i64 1)
  %piece.at = getelementptr %slot, ptr %slot, i32 0, i32 2
  store i64 %piece, ptr %piece.at
  %number.next = add i64 %number, 1
  %is.divided = icmp eq i64 %number.next, %least
  br i1 %is.divided, label %post, label %divide

post:
  %others = sub i32 %count, 1
  call void @tvms_initialize()
  call i32 @pthread_mutex_lock(ptr @tvms_lock)
  %older = load ptr, ptr @tvms_jobs
  store ptr %older, ptr %job
  store ptr %job, ptr @tvms_jobs
  atomicrmw add ptr @tvms_posted, i32 1 monotonic
  call void @tvms_start_workers(i32 %others)
  br label %choose

choose:                                                ; the workers to wake
  %chosen = phi i32 [ 0, %post ], [ %chosen.next, %rouse ]
  %worker = load ptr, ptr @tvms_sleeping
  %is.enough = icmp eq i32 %chosen, %others
  %is.none = icmp eq ptr %worker, null
  %is.chosen = or i1 %is.enough, %is.none
  br i1 %is.chosen, label %release, label %place

place:                                                 ; a worker that must stay on the CPU of its caller cannot help
  %cpu.at = getelementptr %worker, ptr %worker, i32 0, i32 2
  %cpu = load i32, ptr %cpu.at
  %is.apart = call i1 @tvms_keep_away(ptr %worker, i32 %cpu, i32 %here)
  br i1 %is.apart, label %rouse, label %release

rouse:
  %sleeper.next = load ptr, ptr %worker
  store ptr %sleeper.next, ptr @tvms_sleeping
  %asleep.at = getelementptr %worker, ptr %worker, i32 0, i32 3
  store i32 0, ptr %asleep.at
  %woken.at = getelementptr ptr, ptr %woken, i32 %chosen
  store ptr %worker, ptr %woken.at
  %chosen.next = add i32 %chosen, 1
  br label %choose

release:
  call i32 @pthread_mutex_unlock(ptr @tvms_lock)
  br label %wake

wake:                                                  ; after the lock is released, since the workers take it
  %left = phi i32 [ %chosen, %release ], [ %left.next, %signal ]
  %is.awake = icmp eq i32 %left, 0
  br i1 %is.awake, label %work, label %signal

signal:
  %left.next = sub i32 %left, 1
  %signaled.at = getelementptr ptr, ptr %woken, i32 %left.next
  %signaled = load ptr, ptr %signaled.at
  %awakening = getelementptr %worker, ptr %signaled, i32 0, i32 6
  call i32 @pthread_cond_signal(ptr %awakening)
  br label %wake

work:
  %started = call i64 @tvms_now()
  call i1 @tvms_work(ptr %job, i32 0, ptr null)
  %worked = call i64 @tvms_now()
  br label %spin

spin:                                                  ; the last pieces of the workers are short
  %spins = phi i32 [ 0, %work ], [ %spins.next, %again ]
  %busy = load atomic i32, ptr %active.at acquire, align 4
  %is.idle = icmp eq i32 %busy, 0
  %is.patient = icmp ult i32 %spins, $SPINS
  %is.stopping = xor i1 %is.patient, true
  %is.over = or i1 %is.idle, %is.stopping
  br i1 %is.over, label %leave, label %again

again:
  call void @tvms_pause()
  %spins.next = add i32 %spins, 1
  br label %spin

leave:
  call i32 @pthread_mutex_lock(ptr @tvms_lock)
  br label %find

find:                                                  ; the link that points to this job
  %link = phi ptr [ @tvms_jobs, %leave ], [ %linked, %find ]
  %linked = load ptr, ptr %link
  %is.mine = icmp eq ptr %linked, %job
  br i1 %is.mine, label %remove, label %find

remove:
  %after = load ptr, ptr %job
  store ptr %after, ptr %link
  br label %wait

wait:
  %still = load atomic i32, ptr %active.at monotonic, align 4
  %is.finished = icmp eq i32 %still, 0
  br i1 %is.finished, label %done, label %sleep

sleep:
  call i32 @pthread_cond_wait(ptr %finished, ptr @tvms_lock)
  br label %wait

done:
  call i32 @pthread_mutex_unlock(ptr @tvms_lock)
  call i32 @pthread_cond_destroy(ptr %finished)
  %ended = call i64 @tvms_now()
  %waited = sub i64 %ended, %worked
  %own.time = sub i64 %worked, %started
  %half = lshr i64 %own.time, 1
  %limit = add i64 %half, $LONG
  %is.long = icmp sgt i64 %waited, %limit
  %penalty = load atomic i64, ptr @tvms_penalty monotonic, align 8
  %twice = shl i64 %penalty, 1
  %raised = add i64 %twice, $LEAST_ALONE
  %most = call i64 @llvm.umin.i64(i64 %raised, i64 $MOST_ALONE)
  %sixteenth = lshr i64 %penalty, 4
  %reduced = sub i64 %penalty, %sixteenth
  %lowered = call i64 @llvm.usub.sat.i64(i64 %reduced, i64 1)
  %penalty.next = select i1 %is.long, i64 %most, i64 %lowered
  store atomic i64 %penalty.next, ptr @tvms_penalty monotonic, align 8
  %pause = mul i64 %waited, %most
  %end.alone = add i64 %ended, %pause
  %alone.next = select i1 %is.long, i64 %end.alone, i64 0
  store atomic i64 %alone.next, ptr @tvms_alone monotonic, align 8
  %status = load i32, ptr %status.at
  ret i32 %status
}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)

; Execute pieces of %job until none is left, beginning with those of the slot %first; %worker is null for the caller. A worker
; on the CPU of the caller moves to another one before it takes a piece; return false if there is none.
define internal i1 @tvms_work(ptr %job, i32 %first, ptr %worker) {
  %body.at = getelementptr %job, ptr %job, i32 0, i32 1
  %body = load ptr, ptr %body.at
  %closure.at = getelementptr %job, ptr %job, i32 0, i32 2
  %closure = load ptr, ptr %closure.at
  %slots.at = getelementptr %job, ptr %job, i32 0, i32 3
  %slots = load ptr, ptr %slots.at
  %count.at = getelementptr %job, ptr %job, i32 0, i32 4
  %count = load i32, ptr %count.at
  %status.at = getelementptr %job, ptr %job, i32 0, i32 5
  %here.at = getelementptr %job, ptr %job, i32 0, i32 9
  %is.caller = icmp eq ptr %worker, null
  br label %next.slot

next.slot:
  %visited = phi i32 [ 0, %0 ], [ %visited.next, %exhausted ]
  %turn = add i32 %first, %visited
  %number = urem i32 %turn, %count
  %slot = getelementptr %slot, ptr %slots, i32 %number
  %end.at = getelementptr %slot, ptr %slot, i32 0, i32 1
  %end = load i64, ptr %end.at
  %piece.at = getelementptr %slot, ptr %slot, i32 0, i32 2
  %piece = load i64, ptr %piece.at
  br label %look

look:                                                  ; reading does not take the cache line from those who write to it
  %seen = load atomic i64, ptr %slot monotonic, align 8
  %is.left = icmp slt i64 %seen, %end
  br i1 %is.left, label %locate, label %exhausted

locate:
  %cpu = call i32 @tvms_cpu()
  br i1 %is.caller, label %publish, label %compare

publish:
  store atomic i32 %cpu, ptr %here.at monotonic, align 4
  br label %take

compare:
  %here = load atomic i32, ptr %here.at monotonic, align 4
  %is.apart = call i1 @tvms_keep_away(ptr %worker, i32 %cpu, i32 %here)
  br i1 %is.apart, label %arrive, label %stay

arrive:
  call void @tvms_restore(ptr %worker)
  br label %take

stay:
  ret i1 false

take:
  %begin = atomicrmw add ptr %slot, i64 %piece monotonic
  %is.taken = icmp slt i64 %begin, %end
  br i1 %is.taken, label %execute, label %exhausted

execute:
  %rest = sub i64 %end, %begin
  %size = call i64 @llvm.umin.i64(i64 %rest, i64 %piece)
  %stop = add i64 %begin, %size
  %status = call i32 %body(ptr %closure, i64 %begin, i64 %stop)
  atomicrmw umax ptr %status.at, i32 %status monotonic
  br label %look

exhausted:
  %visited.next = add i32 %visited, 1
  %is.all = icmp eq i32 %visited.next, %count
  br i1 %is.all, label %nothing.left, label %next.slot

nothing.left:
  %open.at = getelementptr %job, ptr %job, i32 0, i32 7
  store atomic i32 0, ptr %open.at monotonic, align 4
  ret i1 true
}

declare i64 @llvm.umin.i64(i64, i64)

; A worker: look for a job; if there is none, spin, then sleep. The argument is the number of the slot to begin with.
define internal ptr @tvms_worker(ptr %argument) {
  %wide = ptrtoint ptr %argument to i64
  %first = trunc i64 %wide to i32
  %worker = alloca %worker, align 64
  %self = call ptr @pthread_self()
  %self.at = getelementptr %worker, ptr %worker, i32 0, i32 1
  store ptr %self, ptr %self.at
  %cpu.at = getelementptr %worker, ptr %worker, i32 0, i32 2
  %asleep.at = getelementptr %worker, ptr %worker, i32 0, i32 3
  %moved.at = getelementptr %worker, ptr %worker, i32 0, i32 4
  store i32 0, ptr %moved.at
  %awakening = getelementptr %worker, ptr %worker, i32 0, i32 6
  call i32 @pthread_cond_init(ptr %awakening, ptr null)
  br label %search

search:
  call i32 @pthread_mutex_lock(ptr @tvms_lock)
  %newest = load ptr, ptr @tvms_jobs
  br label %candidate

candidate:
  %job = phi ptr [ %newest, %search ], [ %older, %skip ]
  %is.none = icmp eq ptr %job, null
  br i1 %is.none, label %idle, label %examine

examine:                                               ; are pieces left, and a place for one more worker?
  %open.at = getelementptr %job, ptr %job, i32 0, i32 7
  %open = load atomic i32, ptr %open.at monotonic, align 4
  %active.at = getelementptr %job, ptr %job, i32 0, i32 6
  %active = load atomic i32, ptr %active.at monotonic, align 4
  %more = add i32 %active, 1
  %count.at = getelementptr %job, ptr %job, i32 0, i32 4
  %count = load i32, ptr %count.at
  %has.place = icmp ult i32 %more, %count
  %is.open = icmp ne i32 %open, 0
  %is.wanted = and i1 %is.open, %has.place
  br i1 %is.wanted, label %join, label %skip

skip:
  %older = load ptr, ptr %job
  br label %candidate

join:
  store atomic i32 %more, ptr %active.at monotonic, align 4
  call i32 @pthread_mutex_unlock(ptr @tvms_lock)
  %is.useful = call i1 @tvms_work(ptr %job, i32 %first, ptr %worker)
  call i32 @pthread_mutex_lock(ptr @tvms_lock)
  %before = atomicrmw sub ptr %active.at, i32 1 release
  %is.last = icmp eq i32 %before, 1
  br i1 %is.last, label %report, label %rejoin

report:                                                ; the job is gone once the lock is released
  %finished = getelementptr %job, ptr %job, i32 0, i32 8
  call i32 @pthread_cond_signal(ptr %finished)
  br label %rejoin

rejoin:
  br i1 %is.useful, label %continue, label %enlist

continue:
  call i32 @pthread_mutex_unlock(ptr @tvms_lock)
  br label %search

idle:
  %posted = load atomic i32, ptr @tvms_posted monotonic, align 4
  call i32 @pthread_mutex_unlock(ptr @tvms_lock)
  br label %spin

spin:
  %spins = phi i32 [ 0, %idle ], [ %spins.next, %again ]
  %now = load atomic i32, ptr @tvms_posted monotonic, align 4
  %is.new = icmp ne i32 %now, %posted
  br i1 %is.new, label %search, label %again

again:
  call void @tvms_pause()
  %spins.next = add i32 %spins, 1
  %is.patient = icmp ult i32 %spins.next, $SPINS
  br i1 %is.patient, label %spin, label %sleep

sleep:
  call i32 @pthread_mutex_lock(ptr @tvms_lock)
  %late = load atomic i32, ptr @tvms_posted monotonic, align 4
  %is.missed = icmp ne i32 %late, %posted
  br i1 %is.missed, label %wake, label %enlist

enlist:
  %cpu = call i32 @tvms_cpu()
  store i32 %cpu, ptr %cpu.at
  %sleeping = load ptr, ptr @tvms_sleeping
  store ptr %sleeping, ptr %worker
  store ptr %worker, ptr @tvms_sleeping
  store i32 1, ptr %asleep.at
  br label %wait

wait:
  call i32 @pthread_cond_wait(ptr %awakening, ptr @tvms_lock)
  %asleep = load i32, ptr %asleep.at
  %is.woken = icmp eq i32 %asleep, 0
  br i1 %is.woken, label %wake, label %wait

wake:
  call i32 @pthread_mutex_unlock(ptr @tvms_lock)
  call void @tvms_restore(ptr %worker)
  br label %search
}

; Start workers until there are %wanted, as far as the system permits. The caller holds the lock.
define internal void @tvms_start_workers(i32 %wanted) {
  %thread = alloca ptr
  br label %next

next:
  %started = load i32, ptr @tvms_started
  %is.more = icmp ult i32 %started, %wanted
  br i1 %is.more, label %start, label %done

start:
  %number = add i32 %started, 1
  %wide = zext i32 %number to i64
  %argument = inttoptr i64 %wide to ptr
  %problem = call i32 @pthread_create(ptr %thread, ptr null, ptr @tvms_worker, ptr %argument)
  %is.started = icmp eq i32 %problem, 0
  br i1 %is.started, label %detach, label %done

detach:
  %handle = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %handle)
  store i32 %number, ptr @tvms_started
  br label %next

done:
  ret void
}

; Initialize the pool in a new process; other threads of it wait until that is done.
define internal void @tvms_initialize() {
  %process = call i32 @getpid()
  br label %look

look:
  %owner = load atomic i32, ptr @tvms_process acquire, align 4
  %is.ready = icmp eq i32 %owner, %process
  br i1 %is.ready, label %done, label %claim

claim:
  %is.claimed = icmp eq i32 %owner, -1
  br i1 %is.claimed, label %wait, label %try

wait:
  call void @tvms_pause()
  br label %look

try:
  %exchange = cmpxchg ptr @tvms_process, i32 %owner, i32 -1 acquire monotonic
  %is.mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %is.mine, label %initialize, label %look

initialize:
  call i32 @pthread_mutex_init(ptr @tvms_lock, ptr null)
  store ptr null, ptr @tvms_jobs
  store i32 0, ptr @tvms_started
  store ptr null, ptr @tvms_sleeping
  store atomic i32 %process, ptr @tvms_process release, align 4
  br label %done

done:
  ret void
}

; Return the default number of threads, which is determined once.
define internal i32 @tvms_default_count() {
  %known = load atomic i32, ptr @$THREADS monotonic, align 4
  %is.known = icmp ne i32 %known, 0
  br i1 %is.known, label %answer, label %own

own:
  %text = call ptr @getenv(ptr @tvms_variable)
  %is.unset = icmp eq ptr %text, null
  br i1 %is.unset, label %openmp, label %read.own

read.own:
  %said = call i32 @atoi(ptr %text)
  %is.number = icmp sgt i32 %said, 0
  br i1 %is.number, label %keep, label %openmp

openmp:
  %text.openmp = call ptr @getenv(ptr @tvms_openmp_variable)
  %is.openmp.unset = icmp eq ptr %text.openmp, null
  br i1 %is.openmp.unset, label %cores, label %read.openmp

read.openmp:
  %said.openmp = call i32 @atoi(ptr %text.openmp)
  %is.openmp.number = icmp sgt i32 %said.openmp, 0
  br i1 %is.openmp.number, label %keep, label %cores

cores:
  %cores.count = call i32 @tvms_cpu_count()
  br label %keep

keep:
  %count = phi i32 [ %said, %read.own ], [ %said.openmp, %read.openmp ], [ %cores.count, %cores ]
  store atomic i32 %count, ptr @$THREADS monotonic, align 4
  br label %answer

answer:
  %result = phi i32 [ %known, %0 ], [ %count, %keep ]
  ret i32 %result
}

; Return the time in nanoseconds.
define internal i64 @tvms_now() {
  %time = alloca { i64, i64 }
  call i32 @clock_gettime(i32 $CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %fraction.at = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  %fraction = load i64, ptr %fraction.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %fraction
  ret i64 %now
}

$PLACEMENT
$PAUSE

; What a spinning thread does between two looks.
define internal void @tvms_pause() alwaysinline {
  $PAUSE_CALL
  ret void
}
