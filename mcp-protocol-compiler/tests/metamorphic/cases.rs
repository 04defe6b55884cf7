//! Pairs of texts with one behaviour, each pair about one rule that must not look at how a text is written.

use std::fmt::Write;
use std::path::Path;

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};

/// The errors of a text, as a user reads them.
fn errors(text: &str) -> String {
    let compilation = compile(Path::new("test.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<_> = errors.cloned().collect();
    render_all(&compilation.sources, &errors, Style::Plain)
}

fn accepted(text: &str) {
    assert_eq!(errors(text), "", "{text}");
}

fn refused(text: &str, code: &str) {
    let errors = errors(text);
    assert!(errors.contains(&format!("error[{code}]")), "not refused with {code}: {errors}\n{text}");
}

const WATCHING: &str = "request Watch \"watch\" (_) -> Watching (_) cancellable\n\
    notification News \"news\" (_)\nnotification Cancelled \"cancelled\" (_) cancels id\n\
    client C\nserver S\nC = *Watched\nS = *Served\n\
    Watched = !Watch . (rec on . ( ?News . on & ?Watching . End ))\n";

#[test]
fn a_step_that_leads_back_leads_back_unfolded_too() {
    let key = "key k = Watch.k | News.k\n";
    let folded = "Served = ?Watch . rec on . ( !Watching . End ⊕ !News . on )\n";
    let unfolded =
        "Served = ?Watch . ( !News . (rec on . ( !Watching . End ⊕ !News . on )) ⊕ !Watching . End )\n";
    let moving = "Served = ?Watch . ( !News . !Watching . End ⊕ !Watching . End )\n";
    accepted(&format!("{WATCHING}{key}{folded}"));
    accepted(&format!("{WATCHING}{key}{unfolded}"));
    refused(&format!("{WATCHING}{key}{moving}"), "S0407");
}

#[test]
fn the_id_of_the_opening_request_is_never_mistaken_for_one_before_it() {
    let declarations = "request Watch \"watch\" (_) -> Watching (_) cancellable\n\
        notification Begun \"begun\" (_)\nnotification News \"news\" (_)\n\
        notification Cancelled \"cancelled\" (_) cancels id\nclient C\nserver S = dual C\n\
        Watched = !Watch . ?Begun . ?Watching . rec on . ?News . on\n";
    accepted(&format!("{declarations}key k = id of Watch | Begun.k | News.k\nC = *Watched\n"));
    refused(&format!("{declarations}key k = Watch.k | Begun.k | News.k\nC = *Watched\n"), "S0407");
    // Another message may bring any value into a sub-session, also one that was or will be the id of a request.
    let other = "notification Also \"also\" (_)\nAlsoWatched = !Also . ?Begun . ?News . End\n";
    refused(
        &format!(
            "{declarations}{other}key k = id of Watch | Begun.k | News.k | Also.k\n\
             notification Leave \"leave\"\nC = *Watched ⊕ !Leave . Left\nLeft = *AlsoWatched\n"
        ),
        "S0407",
    );
    // Ids of the two directions are not told apart.
    let key = "key k = id of Watch | Begun.k | News.k";
    let turned = "notification Leave \"leave\"\nC = *Watched ⊕ !Leave . Left\n\
        Left = *( ?Watch . !Watching . !Begun . !News . End )\n";
    refused(&format!("{declarations}{key}\n{turned}"), "S0407");
    // A second key may have the value of a sub-session before.
    let second = "key k = id of Watch | Begun.k | News.k\nkey j = Watch.j | Begun.j\nC = *Watched\n";
    refused(&format!("{declarations}{second}"), "S0407");
}

#[test]
fn what_opens_a_sub_session_within_one_has_the_value_of_that_one() {
    let declarations = "request Submit \"s\" (_) -> Done cancellable\nnotification Accepted \"a\" (_)\n\
        request Pause \"p\" (_) -> Paused\nnotification Cancel \"c\" (_) cancels id\n\
        client C\nserver S = dual C\n\
        Running = ?Done . End\nJob = !Submit . ?Accepted . (Running, *( !Pause . ?reply . End ))\n";
    let key = "key job = id of Submit | Accepted.id | Pause.id\n";
    accepted(&format!("{declarations}{key}C = *Job\n"));
    // The same message opens one of the session, too, with any value.
    let left = "C = *Job ⊕ !Leave . Left\nnotification Leave \"leave\"\n\
        Left = *( !Pause . ?reply . ?Accepted . End )\n";
    refused(&format!("{declarations}{key}{left}"), "S0407");
    // What opens the inner one brings the key that the outer one does not have yet.
    let two = "key job = Submit.job | Pause.job | Accepted.job\nkey p = Pause.p | Accepted.p\n\
        C = *( !Submit . (Running, *( !Pause . ?Accepted . ?reply . End )) )\n";
    refused(&format!("{declarations}{two}"), "S0407");
    let ids = two.replace("Submit.job", "id of Submit").replace("Pause.p", "id of Pause");
    accepted(&format!("{declarations}{ids}"));
}

#[test]
fn what_is_late_for_one_kind_of_sub_session_may_be_taken_for_another_kind() {
    let declarations = "notification A \"a\" (_)\nnotification B \"b\" (_)\nnotification N \"n\" (_)\n\
        notification M \"m\" (_)\nnotification Stop \"stop\" (_)\n\
        key k = A.k | B.k | N.k | M.k | Stop.k\nclient C\nserver S = dual C\nC = *Instance\n";
    accepted(&format!(
        "{declarations}Instance = !A . ( rec x . ( ?N . x ⊕ !Stop . End ) ) ⊕ !B . ?M . ?N . End\n"
    ));
    refused(
        &format!("{declarations}Instance = !A . ( rec x . ( ?N . x ⊕ !Stop . End ) ) ⊕ !B . ?N . ?M . End\n"),
        "S0407",
    );
}

#[test]
fn a_step_between_a_written_and_an_implied_refusal_leads_back() {
    let declarations = "notification N \"n\" (_)\nrequest Q \"q\" (_) -> R (_)\nclient C\nC = Loop\n";
    accepted(&format!("{declarations}Loop = !Q . ( rec y . ( ?R . Loop & ?N . y ) )\n"));
    let written = "?R . Loop & ?QError . Loop & ?N . ( rec y . ( ?R . Loop & ?N . y ) )";
    accepted(&format!("{declarations}Loop = !Q . ( {written} )\n"));
    let elsewhere = "?R . Loop & ?QError . End & ?N . ( rec y . ( ?R . Loop & ?N . y ) )";
    refused(&format!("{declarations}Loop = !Q . ( {elsewhere} )\n"), "S0306");
}

#[test]
fn what_ties_a_step_may_differ_from_way_to_way() {
    let declarations = "notification A \"a\" (_)\nnotification B \"b\" (_)\nnotification N \"n\" (_)\n\
        key j = A.j | N.j\nkey k = B.k | N.k\nclient C\nC = *Instance\n";
    accepted(&format!("{declarations}Instance = !A . ?N . End ⊕ !B . ?N . End\n"));
    accepted(&format!("{declarations}Instance = !A . Rest ⊕ !B . Rest\nRest = ?N . End\n"));
    let loose = declarations.replace("key j = A.j | N.j\n", "");
    refused(&format!("{loose}Instance = !A . ?N . End ⊕ !B . ?N . End\n"), "S0406");
    refused(&format!("{loose}Instance = !A . Rest ⊕ !B . Rest\nRest = ?N . End\n"), "S0406");
}

#[test]
fn cancels_belong_to_their_requests_in_whatever_order_channels_stand() {
    let mut text = String::from("notification Cancelled \"cancelled\" (_) cancels id\nclient C\nserver S\n");
    let (mut client, mut server) = (Vec::new(), Vec::new());
    for number in 0..40 {
        writeln!(text, "request A{number} \"a{number}\" -> R{number} cancellable").unwrap();
        client.push(format!("rec x . !A{number} . ?R{number} . x"));
        server.push(format!("rec x . ?A{number} . !R{number} . x"));
    }
    server.reverse();
    accepted(&format!("{text}C = ({})\nS = ({})\n", client.join(", "), server.join(", ")));
}

#[test]
fn two_requests_of_one_channel_cannot_both_be_cancelled() {
    let text = "request A \"a\" -> Ra cancellable\nrequest B \"b\" -> Rb cancellable\n\
        notification Cancelled \"cancelled\" (_) cancels id\nclient C\n\
        C = !A . !B . ( ?Ra . X & ?AError . X & ?Rb . Y & ?BError . Y )\n\
        X = ?Rb . End & ?BError . End\nY = ?Ra . End & ?AError . End\n";
    refused(text, "S0307");
    assert!(errors(text).contains("`B` is `cancellable`, and so is `A`"), "{}", errors(text));
}

#[test]
fn a_refusal_is_the_same_written_and_implied() {
    let declarations = "notification N \"n\"\nrequest Q \"q\" -> R\nclient C\nserver S\n\
        C = rec x . ( !N . x & ?Q . !R . x )\nLoop = ?N . Loop & !Q . ?R . Loop\n";
    accepted(&format!("{declarations}S = Loop\n"));
    accepted(&format!("{declarations}S = ?N . Loop & !Q . ( ?R . Loop & ?QError . Loop )\n"));
}

#[test]
fn channels_that_start_in_another_order_are_the_same_channels() {
    let declarations = "notification A \"a\"\nnotification B \"b\"\nnotification X \"x\"\nnotification Y \"y\"\n\
        notification Z \"z\"\nclient C\nserver S = dual C\n\
        C = !X . ?Y . !Z . (rec a . !A . a, rec b . !B . b) ⊕ ?Y . !X . !Z . ";
    accepted(&format!("{declarations}(rec a . !A . a, rec b . !B . b)\n"));
    accepted(&format!("{declarations}(rec b . !B . b, rec a . !A . a)\n"));
}

#[test]
fn a_refusal_that_one_role_writes_and_the_other_implies_is_not_a_difference_of_the_texts() {
    let text = |reply: &str| {
        format!(
            "protocol Test \"1\"\ntypes wire\nrequest Ask \"ask\" (_) -> Told (_)\n\
             request Split \"split\" (_) -> Whole (_) | Halves (_) if late\n\
             request Late \"late\" (_) -> Came (_)\nnotification Note \"note\" (_)\n\
             client C compatible\nserver S\nS::Last = ?Note . End\nC::Last = !Note . End\n\
             S = rec again .\n    ( !Ask . {reply}\n\
             \x20   ⊕ !Split . ( ?Whole . again & ?Halves . (Last, *( !Late . Last )) ) )\n\
             C = ?Ask . !reply . C\n    \
             & ?Split . ( !Whole . C ⊕ !Halves . (Last, *( ?Late . !reply . End )) )\n"
        )
    };
    let errors =
        [text("?Told . again"), text("( ?Told . again & ?AskError . again )")].map(|text| errors(&text));
    for errors in errors {
        // `write ?reply in place of ?Note` mends all that is wrong.
        assert_eq!(errors.matches("error[").count(), 1, "{errors}");
        assert!(errors.contains("error[S0305]") && errors.contains("in place of `?Note`"), "{errors}");
    }
}

#[test]
fn channels_of_a_sub_session_may_be_one_channel_of_the_other_role() {
    let declarations = "notification Open \"open\" (_)\nnotification Typed \"typed\" (_)\n\
        notification Left \"left\" (_)\nnotification Saved \"saved\" (_)\n\
        request Ask \"ask\" (_) -> Answer (_)\nclient C\nserver S\n\
        key pad = Open.k | Typed.k | Left.k | Saved.k | Ask.k\n\
        C = *( !Open . (Typing, Saving, *( !Ask . ?Answer . End )) )\n\
        Typing = !Typed . Typing ⊕ !Left . End\nSaving = !Saved . End\n\
        Both = ?Typed . Both & ?Left . Unsaved & ?Saved . TypingOnly\n\
        Unsaved = ?Saved . End\nTypingOnly = ?Typed . TypingOnly & ?Left . End\n";
    // Once both channels have ended, the client asks nothing more.
    accepted(&format!("{declarations}S = *( ?Open . (Both, *( ?Ask . !Answer . End )) )\n"));
    refused(&format!("{declarations}S = *( ?Open . Both )\n"), "S0501");
}
