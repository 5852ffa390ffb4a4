//! Starts `tvms lsp` for Zed.

use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct Tvms;

impl zed::Extension for Tvms {
    fn new() -> Self {
        Tvms
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let command = worktree
            .which("tvms")
            .ok_or("tvms is not in PATH: pip install 'tvms-lang[lsp]'")?;
        Ok(Command { command, args: vec!["lsp".into()], env: worktree.shell_env() })
    }
}

zed::register_extension!(Tvms);
