//! `sessionc trace`: what breaks the protocol in recorded traffic.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::arguments::{SenderChoice, Trace};
use crate::end::End;
use crate::files::{Failure, is_stdin, open, shown};
use crate::protocol::choose;
use crate::terminal_line::TerminalLine;
use crate::trace::log::{self, LogHints};
use crate::trace::progress::ReadProgress;
use crate::trace::report::TraceReport;
use crate::trace::summary::Summary;
use crate::trace::until_interrupt::UntilInterrupt;

/// Judges all logs, also after one that cannot be read. A finding of the level that `--fail-on` names fails the trace.
pub(crate) fn run(arguments: &Trace) -> Result<End, Failure> {
    let (file, logs) = split(arguments);
    if let Some(log) = file.filter(|path| is_log(path)) {
        return Err(Failure::LogForProtocol(log.to_path_buf()));
    }
    let chosen = choose(file, arguments.protocol)?;
    if logs.is_empty() {
        return Err(Failure::NoLog);
    }
    if let Some(protocol) = logs.iter().find(|path| is_protocol(path)) {
        return Err(Failure::ProtocolForLog(protocol.clone()));
    }
    let hints =
        LogHints { state: arguments.from.as_deref(), sender: arguments.sender.map(SenderChoice::into) };
    let line = Rc::new(TerminalLine::on_stderr());
    let mut report = TraceReport::new(arguments.format, Rc::clone(&line));
    let (mut all, mut failure) = (Summary::default(), None);
    for path in logs {
        let judged = judge(path, &chosen, hints, &line, &mut report);
        line.clear();
        match judged {
            Ok(summary) => all.add(summary),
            // The other logs are judged all the same; the first that cannot be read decides how this ends.
            Err(unreadable) => failure = failure.or(Some(unreadable)),
        }
    }
    report.end(&all)?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(End::of_findings(all.worst(), arguments.fail_on.least())),
    }
}

fn judge(
    path: &Path,
    chosen: &crate::protocol::Chosen,
    hints: LogHints<'_>,
    line: &Rc<TerminalLine>,
    report: &mut TraceReport,
) -> Result<Summary, Failure> {
    let unreadable = |error| Failure::ReadOther(path.to_path_buf(), error);
    let log: Box<dyn Read> = match is_stdin(path) {
        true => Box::new(UntilInterrupt::open(path).map_err(unreadable)?),
        false => open(path).map_err(unreadable)?,
    };
    let length = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
    let log = ReadProgress::new(log, shown(path).display().to_string(), length, Rc::clone(line));
    report.begin(path);
    let summary = log::judge(log, chosen, hints, report)?.map_err(unreadable)?;
    if summary.messages() == 0 {
        return Err(Failure::NoMessages(path.to_path_buf(), summary.silent));
    }
    report.summary(&summary)?;
    Ok(summary)
}

/// Whether this is a protocol by its name.
fn is_protocol(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "session")
}

/// Whether this is a log by its name, and no protocol.
fn is_log(path: &Path) -> bool {
    let named = ["jsonl", "ndjson", "json", "har", "log"];
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| named.contains(&extension))
}

/// The file of the protocol, if there is one, and the logs.
fn split(arguments: &Trace) -> (Option<&Path>, &[PathBuf]) {
    match arguments.paths.split_first() {
        Some((first, rest)) if arguments.protocol.is_none() || is_protocol(first) => (Some(first), rest),
        _ => (None, &arguments.paths),
    }
}
