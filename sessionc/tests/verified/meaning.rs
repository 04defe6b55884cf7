//! What a text means, as tables for the oracle: each role's programs, and the steps between them.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use mcp_protocol_compiler::declarations::Resolution;
use mcp_protocol_compiler::resolve::{load, resolve};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};

use crate::reading::{Program, Reading};
use crate::texts::Wanted;

/// The numbers of messages, in the order in which they are met.
type Messages = HashMap<MessageIndex, usize>;

/// A text as a line for the oracle.
pub(crate) fn line(text: &str, wanted: Wanted) -> String {
    let resolution = resolution(text);
    let mut messages = Messages::new();
    let client = role(&Reading::new(&resolution, Side::Client), Side::Client, &mut messages);
    let server = role(&Reading::new(&resolution, Side::Server), Side::Server, &mut messages);
    format!("{} {client} {server}", u8::from(wanted == Wanted::Dual))
}

fn resolution(text: &str) -> Resolution {
    let (mut sources, mut findings) = (SourceMap::new(), Vec::new());
    let read: load::Read<'_> = &mut |_| Ok(text.as_bytes().to_vec());
    let files = load::load(Path::new("random.session"), read, &mut sources, &mut findings).unwrap();
    resolve(&files, &mut findings)
}

/// A role: its states, who may close in each, and its edges.
fn role(reading: &Reading<'_>, side: Side, messages: &mut Messages) -> String {
    let mut states: Vec<Program> = vec![reading.start()];
    let mut numbers: HashMap<Program, usize> = HashMap::from([(states[0].clone(), 0)]);
    let (mut rights, mut edges, mut count) = (String::new(), String::new(), 0);
    let mut at = 0;
    while let Some(program) = states.get(at).cloned() {
        let closes = |who: Side| u8::from(may_close(reading, &program, who == side));
        write!(rights, " {} {}", closes(Side::Client), closes(Side::Server)).unwrap();
        for (place, thread) in program.threads.iter().enumerate() {
            for step in reading.moves(thread) {
                let id = step.id.clone().unwrap_or_else(|| i64::from(step.message.0).into());
                let next = reading.take(&program, place, &step, Some(&id), false);
                let next = *numbers.entry(next.clone()).or_insert_with(|| {
                    states.push(next);
                    states.len() - 1
                });
                let from_client = (side == Side::Client) == (step.direction == Direction::Send);
                let known = messages.len();
                let message = *messages.entry(step.message).or_insert(known);
                write!(edges, " {at} {} {message} {next}", u8::from(!from_client)).unwrap();
                count += 1;
            }
        }
        at += 1;
    }
    format!("{}{rights} {count}{edges}", states.len())
}

/// Whether this role, or the other, may close: each channel that can end has ended or offers it, and there is one, or no
/// channel at all.
fn may_close(reading: &Reading<'_>, program: &Program, own: bool) -> bool {
    let channels: Vec<_> = program.threads.iter().map(|thread| reading.closing(thread)).collect();
    let mut able = channels.iter().filter(|channel| channel.reaches || channel.over).peekable();
    if able.peek().is_none() {
        return channels.is_empty();
    }
    able.all(|channel| channel.over || if own { channel.own } else { channel.peer })
}
