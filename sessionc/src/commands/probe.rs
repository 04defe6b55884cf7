//! `sessionc probe`: how a server treats what its protocol forbids.

use std::time::Duration;

use mcp_protocol_machine::protocol::Strictness;

use crate::address;
use crate::arguments::{Probe, ProbeFormat};
use crate::end::End;
use crate::files::Failure;
use crate::print::print;
use crate::probe::campaign::{self, Settings};
use crate::probe::connection::Address;
use crate::probe::report::{json, junit, list, table};
use crate::probe::samples::Samples;
use crate::protocol::choose;
use crate::terminal_line;

/// Probes a server, or lists what would be probed. A fault of the level that `--fail-on` names fails the probe.
pub(crate) fn run(arguments: &Probe) -> Result<End, Failure> {
    let chosen = choose(arguments.protocol.file.as_deref(), arguments.protocol.shipped)?;
    let samples = Samples::new(arguments.protocol.shipped, arguments.samples.as_deref())?;
    let settings = Settings {
        samples,
        state: arguments.state.clone(),
        only: arguments.only.clone(),
        wait: Duration::from_millis(arguments.wait),
        timeout: Duration::from_secs(arguments.timeout),
        jobs: arguments.jobs,
    };
    if arguments.list {
        if arguments.format == ProbeFormat::Junit {
            return Err(Failure::ListAsJunit);
        }
        let listed = campaign::list(&chosen, arguments.url.is_some(), &settings)?;
        print(if arguments.format == ProbeFormat::Text {
            list::text(&listed)
        } else {
            json::listed(&listed)
        })?;
        return Ok(End::Clean);
    }
    let framing = arguments.framing.map_or(chosen.framing(), Into::into);
    let address = match (&arguments.url, arguments.command.is_empty()) {
        (Some(url), _) => {
            address::server(url)?;
            Address::Url(url.clone())
        }
        (None, false) => Address::Command { words: arguments.command.clone(), framing },
        (None, true) => return Err(Failure::NoServer),
    };
    let results =
        campaign::block_on(campaign::run(&chosen, address, &settings)).map_err(Failure::Start)??;
    let threshold = arguments.fail_on.least();
    match arguments.format {
        ProbeFormat::Text => print(table::text(&results, terminal_line::width_of_stdout()))?,
        ProbeFormat::Json => print(json::lines(&results))?,
        ProbeFormat::Junit => print(junit::xml(&results, threshold).map_err(Failure::Report)?)?,
    }
    let worst = [Strictness::Must, Strictness::Should].into_iter().find(|level| results.count(*level) > 0);
    Ok(End::of_findings(worst, threshold))
}
