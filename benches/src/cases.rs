//! The cases, and the process that measures one of them.

use std::process::ExitCode;
use std::time::Instant;

use crate::case::{Case, Place};
use crate::checker;
use crate::contest::{Contestant, InProcess, Plan};
use crate::floor::{Blocking, Floor};
use crate::floor_stateless::{FloorStateless, FloorStatelessHyper};
use crate::http::{self, OverHttp};
use crate::measure::{Figures, resident, stay_on_one_core};
use crate::ours::Ours;
use crate::ours_checked::OursChecked;
use crate::ours_mcp::OursMcp;
use crate::ours_stateless::OursStateless;
use crate::payload::Tool;
use crate::rival::Rival;
use crate::rival_http::Tuned;

const ALL: &[&str] = &["floor", "ours", "ours-mcp", "rmcp"];
const WITH_BLOCKING: &[&str] = &["floor", "blocking", "ours", "ours-mcp", "rmcp"];
const DUPLEX: &[&str] = &["floor", "ours", "ours-checked", "ours-mcp", "rmcp"];
const HTTP: &[&str] = &["floor", "ours", "ours-mcp", "rmcp", "rmcp-tuned"];
const HTTP_CALLS: &[&str] = &[
    "floor",
    "floor-stateless",
    "floor-stateless-hyper",
    "ours",
    "ours-mcp",
    "ours-stateless",
    "rmcp",
    "rmcp-tuned",
];
const HTTP_SESSIONS: &[&str] = &["ours", "ours-mcp", "rmcp"];
const JUDGED: &[&str] = &[checker::NOTIFICATION, checker::EXCHANGE, checker::CROWD];
const ALONE: &[&str] = &["ours"];

const fn case(
    name: &'static str,
    place: Place,
    tool: Tool,
    in_flight: usize,
    calls: usize,
    contestants: &'static [&'static str],
) -> Case {
    Case { name, place, tool, in_flight, calls, contestants }
}

/// All of them.
pub const CASES: &[Case] = &[
    case("duplex, one at a time", Place::Duplex, Tool::Echo, 1, 50_000, DUPLEX),
    case("duplex, one at a time, 10 kB", Place::Duplex, Tool::Long, 1, 20_000, DUPLEX),
    case("duplex, 64 in flight", Place::Duplex, Tool::Echo, 64, 50_000, DUPLEX),
    case("duplex, 64 in flight, 10 kB", Place::Duplex, Tool::Long, 64, 20_000, DUPLEX),
    case("child, one at a time", Place::Child, Tool::Echo, 1, 20_000, WITH_BLOCKING),
    case("child, one at a time, 10 kB", Place::Child, Tool::Long, 1, 10_000, WITH_BLOCKING),
    case("child, 64 in flight", Place::Child, Tool::Echo, 64, 50_000, ALL),
    case("child, 64 in flight, 10 kB", Place::Child, Tool::Long, 64, 10_000, ALL),
    case("http, one at a time", Place::Http, Tool::Echo, 1, 10_000, HTTP_CALLS),
    case("http, one at a time, 10 kB", Place::Http, Tool::Long, 1, 10_000, HTTP_CALLS),
    case("http, 64 in flight", Place::Http, Tool::Echo, 64, 10_000, HTTP_CALLS),
    case("http, 64 in flight, 10 kB", Place::Http, Tool::Long, 64, 10_000, HTTP_CALLS),
    case("duplex, 1000 in flight", Place::Duplex, Tool::Echo, 1_000, 100_000, ALONE),
    case("duplex, 10000 in flight", Place::Duplex, Tool::Echo, 10_000, 100_000, ALONE),
    case("1 session on all cores", Place::Sessions, Tool::Echo, 1, 50_000, ALONE),
    case("2 sessions on all cores", Place::Sessions, Tool::Echo, 2, 50_000, ALONE),
    case("8 sessions on all cores", Place::Sessions, Tool::Echo, 8, 50_000, ALONE),
    case("the checker alone, a message", Place::Nowhere, Tool::Echo, 1, 20_000_000, JUDGED),
    case("idle connection, memory an end", Place::Idle, Tool::Echo, 1, 500, ALL),
    case(
        "idle http session, nothing open, the server",
        Place::HttpSession,
        Tool::Echo,
        1,
        2_000,
        HTTP_SESSIONS,
    ),
    case("idle http client, the server", Place::HttpServer, Tool::Echo, 1, 2_000, HTTP),
    case("idle http client, the client", Place::HttpClient, Tool::Echo, 1, 2_000, HTTP),
];

/// Serves the parent process over standard streams.
pub fn serve(who: &str) -> ExitCode {
    let runtime = runtime();
    match who {
        "floor" => runtime.block_on(Floor::serve_stdio()),
        "blocking" => runtime.block_on(Blocking::serve_stdio()),
        "ours" => runtime.block_on(Ours::serve_stdio()),
        "ours-checked" => runtime.block_on(OursChecked::serve_stdio()),
        "ours-mcp" => runtime.block_on(OursMcp::serve_stdio()),
        "rmcp" => runtime.block_on(Rival::serve_stdio()),
        _ => return unknown(who),
    }
    // A thread that waits for the standard input must not keep the process.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Serves the parent process over HTTP.
pub fn listen(who: &str) -> ExitCode {
    let runtime = runtime();
    match who {
        "floor" => runtime.block_on(http::listen::<Floor>()),
        "floor-stateless" => runtime.block_on(http::listen::<FloorStateless>()),
        "floor-stateless-hyper" => runtime.block_on(http::listen::<FloorStatelessHyper>()),
        "ours" => runtime.block_on(http::listen::<Ours>()),
        "ours-mcp" => runtime.block_on(http::listen::<OursMcp>()),
        "ours-stateless" => runtime.block_on(http::listen::<OursStateless>()),
        "rmcp" => runtime.block_on(http::listen::<Rival>()),
        "rmcp-tuned" => runtime.block_on(http::listen::<Tuned>()),
        _ => return unknown(who),
    }
    ExitCode::SUCCESS
}

/// Measures one case for one contestant, and prints the figures as JSON.
pub fn run(case: &str, who: &str, calls: &str) -> ExitCode {
    let Some(case) = CASES.iter().find(|known| known.name == case) else { return unknown(case) };
    let Ok(calls) = calls.parse() else { return unknown(calls) };
    let case = Case { calls, ..*case };
    if case.place != Place::Sessions {
        stay_on_one_core();
    }
    let figures = match who {
        kind if case.place == Place::Nowhere => match checker::measure(kind, case.calls) {
            Some(figures) => figures,
            None => return unknown(kind),
        },
        who if case.place.is_http() => match measure_http(case, who) {
            Some(figures) => figures,
            None => return unknown(who),
        },
        "floor" => measure::<Floor>(case),
        "blocking" if case.place == Place::Child => runtime().block_on(Blocking::child(plan(case))).figures(),
        "ours" => measure::<Ours>(case),
        "ours-checked" => measure::<OursChecked>(case),
        "ours-mcp" => measure::<OursMcp>(case),
        "rmcp" => measure::<Rival>(case),
        _ => return unknown(who),
    };
    println!("{}", serde_json::to_string(&figures).expect("numbers can be written"));
    ExitCode::SUCCESS
}

fn unknown(word: &str) -> ExitCode {
    eprintln!("`{word}` is not known here");
    ExitCode::from(2)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts")
}

fn plan(case: Case) -> Plan {
    Plan { tool: case.tool, in_flight: case.in_flight, calls: case.calls }
}

fn measure_http(case: Case, who: &str) -> Option<Figures> {
    fn over_http<C: OverHttp>(case: Case, who: &str) -> Figures {
        runtime().block_on(http::measure::<C>(case, who, plan(case)))
    }
    Some(match who {
        "floor" => over_http::<Floor>(case, who),
        "floor-stateless" => over_http::<FloorStateless>(case, who),
        "floor-stateless-hyper" => over_http::<FloorStatelessHyper>(case, who),
        "ours" => over_http::<Ours>(case, who),
        "ours-mcp" => over_http::<OursMcp>(case, who),
        "ours-stateless" => over_http::<OursStateless>(case, who),
        "rmcp" => over_http::<Rival>(case, who),
        "rmcp-tuned" => over_http::<Tuned>(case, who),
        _ => return None,
    })
}

fn measure<C: InProcess>(case: Case) -> Figures {
    let plan = plan(case);
    if case.place == Place::Sessions {
        return sessions::<C>(plan);
    }
    runtime().block_on(async move {
        match case.place {
            Place::Duplex => C::duplex(plan).await.figures(),
            Place::Child => C::child(plan).await.figures(),
            Place::Idle => {
                // The first connections pay for what all of them share.
                let _warm = C::idle(10).await;
                let before = resident("self");
                let kept = C::idle(case.calls).await;
                let after = resident("self");
                Figures::memory(after.saturating_sub(before) as f64 / (2 * kept.len()) as f64)
            }
            // They are measured elsewhere.
            _ => Figures::memory(0.0),
        }
    })
}

/// The figures of many sessions at once, each of which makes one call at a time.
fn sessions<C: InProcess>(plan: Plan) -> Figures {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async move {
        let one = Plan { in_flight: 1, calls: plan.calls / plan.in_flight, ..plan };
        let begun = Instant::now();
        let running: Vec<_> = (0..plan.in_flight).map(|_| tokio::spawn(C::duplex(one))).collect();
        let mut latencies = Vec::new();
        for session in running {
            latencies.extend(session.await.expect("a session ends well").latencies());
        }
        Figures::of(latencies, begun.elapsed(), 0)
    })
}
