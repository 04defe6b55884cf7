(* Reads pairs of roles, one in a line, and prints what the extracted checks say of each, one in a line.

   A line is numbers: 1 if the roles are to be dual and 0 if compatible; the pairs of messages that settle one
   exchange, first the client's message; where there are several, the groups of channels of the session, and those of
   sub-sessions; then the client, then the server. A role is the number of its states, for each of them whether the
   client may close there, whether the server may, and its mark; its edges, each a state, 0 if the client sends and 1
   if the server does, a message, and a state; the channels, where it has several; the messages that open sub-sessions,
   each with the state of the session, 0 or 1 as above, its number, and the state of the sub-session; the edges of sub-
   sessions; the channels of what opens sub-sessions, and of sub-sessions; and the states of sub-sessions in which
   several channels run. Before pairs, edges, groups, channels and these states stands how many they are. A group or a
   channel is written as messages, each with its number. The initial state is 0.

   The answer is three letters. A: accepted, U: not related, R: a race, ?: not decided. Then y or n, what the exact check
   says of dual roles, or -. Then s: an exploration finds the pair safe, u: it finds an unexpected message, -: neither. *)

open Checks

let rec nat n = if n = 0 then O else S (nat (n - 1))

let rounds = nat 1000
let worlds = nat (int_of_string Sys.argv.(1))

let list next read = let count = next () in List.init count (fun _ -> read ())
let pairs next = list next (fun () -> let first = nat (next ()) in (first, nat (next ())))

let role next =
  let list read = list next read in
  let yes () = next () = 1 in
  let states = list (fun () ->
    let client = yes () in
    let server = yes () in
    ((client, server), nat (next ()))) in
  let (rights, marks) = List.split states in
  let table () = list (fun () ->
    let from = nat (next ()) in
    let direction = if yes () then Receive else Send in
    let message = nat (next ()) in
    (((from, direction), message), nat (next ()))) in
  let edges = table () in
  let channels = pairs next in
  let openings = table () in
  let bodies = table () in
  let parts_of_openings = pairs next in
  let parts_of_bodies = pairs next in
  let side_by_side = list (fun () -> nat (next ())) in
  ({ edges; rights; channels; marks },
   { tables = { steps = edges; openings; bodies }; closing = rights;
     channels_of = { parts_of_session = channels; parts_of_openings; parts_of_bodies };
     side_by_side; marks_of = marks })

let judge line =
  let words = ref (List.map int_of_string (List.filter (fun w -> w <> "") (String.split_on_char ' ' line))) in
  let next () = match !words with
    | word :: rest -> words := rest; word
    | [] -> failwith ("a line ends too early: " ^ line) in
  let dual = next () = 1 in
  let settling = pairs next in
  let parts_of_session = pairs next in
  let parts_of_bodies = pairs next in
  let groups = { parts_of_session; parts_of_openings = []; parts_of_bodies } in
  let (client, opening_client) = role next in
  let (server, opening_server) = role next in
  if !words <> [] then failwith ("a line goes on: " ^ line);
  let opens role = role.tables.openings <> [] in
  let ((verdict, one), found) =
    if opens opening_client || opens opening_server
    then report_openings rounds worlds dual settling groups opening_client opening_server
    else report rounds worlds dual settling client server in
  let verdict = match verdict with Accepted -> "A" | Unrelated -> "U" | Races -> "R" | Unknown -> "?" in
  let one = match one with Some true -> "y" | Some false -> "n" | None -> "-" in
  let found = match found with FoundSafe -> "s" | FoundUnsafe -> "u" | FoundNeither -> "-" in
  print_endline (verdict ^ one ^ found)

let () =
  try
    while true do
      judge (input_line stdin)
    done
  with End_of_file -> ()
