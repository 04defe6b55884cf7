//! What the other role says at the place of a mistake.

use mcp_protocol_machine::protocol::Side;

use crate::automaton::{OtherMessage, TextComparison};
use crate::diagnostic::{Diagnostic, Edit, Label, Severity, Suggestion};
use crate::findings::declarations;
use crate::relation::words::role;
use crate::source::Span;

/// Points from the findings of one role at the role `other`.
pub(crate) fn point_at(found: &mut Vec<Diagnostic>, comparison: &TextComparison, other: Side) {
    let differences = &comparison.differences;
    // Each finding with the difference it comes from, as far as that can be told.
    let causes: Vec<Option<usize>> = found
        .iter()
        .map(|finding| match finding.severity {
            Severity::Error => cause(finding, comparison),
            Severity::Warning | Severity::Note => None,
        })
        .collect();
    let mut nearest: Vec<Option<usize>> = vec![None; differences.len()];
    for (index, (finding, cause)) in found.iter().zip(&causes).enumerate() {
        let Some((difference, best)) =
            cause.and_then(|cause| Some((differences.get(cause)?, nearest.get_mut(cause)?)))
        else {
            continue;
        };
        let before = best.and_then(|best| found.get(best));
        if before.is_none_or(|before| distance(finding, difference) < distance(before, difference)) {
            *best = Some(index);
        }
    }
    for (index, (finding, cause)) in std::mem::take(found).into_iter().zip(causes).enumerate() {
        let Some((cause, difference)) = cause.and_then(|cause| Some((cause, differences.get(cause)?))) else {
            found.push(finding);
            continue;
        };
        if nearest.get(cause) == Some(&Some(index)) {
            found.push(pointing(finding, difference, other));
        } else if !comparison.alike_otherwise {
            // It may have another reason, too.
            found.push(finding);
        }
    }
}

/// Names the two actions that a finding of both roles comes from, where their texts differ in nothing else and it only
/// names messages of the groups that stand there.
pub(crate) fn name_both(finding: &mut Diagnostic, comparison: &TextComparison) {
    let ([difference], true) = (comparison.differences.as_slice(), comparison.alike_otherwise) else {
        return;
    };
    let OtherMessage { own, written, fitting, other, facing, only_the_name: _ } = difference;
    let sign = if facing.starts_with('!') { '!' } else { '?' };
    let turned = format!("{sign}{}", written.trim_start_matches(['!', '?']));
    let named = |actions: [&String; 2]| {
        let texts: Vec<String> = actions.iter().map(|action| format!("`{action}`")).collect();
        finding.helps.iter().any(|help| texts.iter().any(|text| help.contains(text)))
    };
    if named([fitting, facing]) && named([written, &turned]) {
        return;
    }
    for (place, action) in [(own, written), (other, facing)] {
        if !finding.labels.iter().any(|label| overlap(label.span, *place)) {
            finding.labels.push(Label { span: *place, text: format!("`{action}` stands here") });
        }
    }
    let help = |write: &str, instead: &str, place: Span| {
        let text = format!("write `{write}` in place of `{instead}`");
        Suggestion::new(text, vec![Edit::replace(place, write)])
    };
    let both = [help(fitting, written, *own), help(&turned, facing, *other)];
    finding.helps.splice(..finding.helps.len().min(1), both);
}

/// The difference that a finding comes from. Where the texts fit but for names, each finding comes from one of them:
/// without it the role would be the dual of one that is right.
fn cause(finding: &Diagnostic, comparison: &TextComparison) -> Option<usize> {
    let differences = comparison.differences.iter().enumerate();
    let near = differences
        .filter(|(_, difference)| {
            let touches = finding.labels.iter().any(|label| overlap(label.span, difference.own));
            touches || comparison.alike_otherwise && finding.code != declarations::UNDEFINED_MESSAGE
        })
        .min_by_key(|(_, difference)| distance(finding, difference));
    near.map(|(index, _)| index)
}

/// How far a finding is from a difference: whether it starts there, whether it speaks of it, and how far it starts.
fn distance(finding: &Diagnostic, difference: &OtherMessage) -> (bool, bool, bool, u32) {
    let primary = finding.labels.first().map_or(Span::default(), |label| label.span);
    let speaks = finding.labels.iter().any(|label| overlap(label.span, difference.own));
    (
        !overlap(primary, difference.own),
        !speaks,
        primary.file != difference.own.file,
        primary.start.abs_diff(difference.own.start),
    )
}

fn overlap(one: Span, two: Span) -> bool {
    one.file == two.file && one.start < two.end && two.start < one.end
}

fn pointing(mut finding: Diagnostic, difference: &OtherMessage, other: Side) -> Diagnostic {
    let OtherMessage { own, written, fitting, other: place, facing, only_the_name } = difference;
    if !finding.labels.iter().any(|label| overlap(label.span, *own)) {
        finding = finding.also(*own, format!("`{written}` stands here"));
    }
    let role = role(other);
    let does = if facing.starts_with('!') { "sends" } else { "expects" };
    finding = finding.also(*place, format!("{role} {does} `{facing}` here"));
    let suggested = format!("`{}`", fitting.trim_start_matches(['!', '?']));
    if !*only_the_name || finding.helps.iter().any(|help| help.contains(&suggested)) {
        return finding;
    }
    // The same name may stand at the primary place, where it is right.
    let mut others = finding.labels.iter_mut().skip(1);
    if let Some(label) = others.find(|label| overlap(label.span, *own)) {
        label.text += &format!("; `{fitting}` would fit");
    }
    let help = format!("write `{fitting}` in place of `{written}`: {role} {does} `{facing}` there");
    // What else could be typed makes this role right, and leaves the two apart; only a name that nothing declares may
    // be a message that is still to be declared.
    if finding.code != declarations::UNDEFINED_MESSAGE {
        finding.helps.clear();
    }
    finding.helps.insert(0, Suggestion::new(help, vec![Edit::replace(*own, fitting.as_str())]));
    finding
}
