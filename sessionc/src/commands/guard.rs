//! `sessionc guard`: a proxy that judges what passes.

use std::sync::Arc;

use crate::arguments::Guard;
use crate::end::End;
use crate::files::{Failure, is_stdin, spare_protocols};
use crate::guard::http::{self, Addresses};
use crate::guard::judge::{Judge, Policy};
use crate::guard::record::Recorder;
use crate::guard::report::Reporter;
use crate::guard::session::{GuardedSession, Outputs};
use crate::guard::stdio;
use crate::protocol::choose;

/// Runs the server and ends with its exit code, or serves over HTTP.
pub(crate) fn run(arguments: &Guard) -> Result<End, Failure> {
    let chosen = choose(arguments.protocol.file.as_deref(), arguments.protocol.shipped)?;
    let policy = arguments.enforce.map_or(Policy::Observe, |level| Policy::Enforce(level.into()));
    let addresses = match (arguments.listen, &arguments.to) {
        (Some(listen), Some(to)) => Some(Addresses { listen, to: to.clone() }),
        _ if arguments.command.is_empty() => return Err(Failure::NothingToGuard),
        _ => None,
    };
    if let Some(record) = &arguments.record {
        if is_stdin(record) {
            return Err(Failure::RecordOnStdout);
        }
        spare_protocols(record, arguments.protocol.file.as_deref())?;
    }
    let recorder = arguments.record.as_deref().map(Recorder::open).transpose()?.map(Arc::new);
    let reporter = Reporter::start(arguments.reports);
    if let Some(what) = recorder.as_deref().and_then(Recorder::goes_on) {
        reporter.event(None, what);
    }
    let outputs = Outputs { recorder, reporter: reporter.clone() };
    let limit = arguments.max_message;
    let end = match &addresses {
        Some(addresses) => {
            http::run(addresses, limit, chosen, policy, arguments.payloads, &outputs).map(|()| End::Clean)
        }
        None => {
            let framing = arguments.framing.map_or(chosen.framing(), Into::into);
            let judge = Judge::new(&chosen, policy, arguments.payloads, None)?;
            let session = GuardedSession::new(None, true, judge, outputs);
            stdio::run(&arguments.command, framing, limit, session).map(End::Exited).map_err(Failure::Start)
        }
    };
    reporter.finish();
    end
}
