//! Sessions over the standard input and output of a real process: this very program, started again with a part to
//! play. It has no usual test harness, because that would write to the standard output of the child.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is its own harness")]

#[cfg(unix)]
fn main() {
    match std::env::var("STDIO_TEST_PART") {
        Ok(part) => child::play(&part),
        Err(_) => parent::run(),
    }
}

#[cfg(not(unix))]
fn main() {}

/// What the started process does.
#[cfg(unix)]
mod child {
    use mcp_runtime::driver::Transport;
    use mcp_runtime::transport::{Child, stdio};

    use test_support::script::Script;

    pub(crate) fn play(part: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            match part {
                // Answers each line until its input ends, then tells how it ended.
                "echo" => {
                    let script = Script::echo();
                    stdio().run(script.endpoint()).await;
                    eprintln!("outcome: {}", script.until_terminated().await);
                }
                // Says one thing, ends the session and goes on living.
                "outlive" => {
                    let script = Script::new();
                    script.send("bye");
                    script.finish();
                    stdio().run(script.endpoint()).await;
                    println!("this must not reach the peer");
                    std::future::pending::<()>().await;
                }
                // Tries a second session in parallel with the first one.
                "twice" => {
                    let (first, second) = (Script::echo(), Script::new());
                    tokio::spawn(stdio().run(first.endpoint()));
                    first.until(|seen| !seen.input.is_empty()).await;
                    stdio().run(second.endpoint()).await;
                    eprintln!("second: {}", second.until_terminated().await);
                    first.until_terminated().await;
                    // The streams are free again, if at their end.
                    let third = Script::echo();
                    stdio().run(third.endpoint()).await;
                    eprintln!("third: {}", third.until_terminated().await);
                }
                // Has a child of its own, about whose error output it says nothing.
                "parent" => {
                    let mut command = std::process::Command::new("/bin/sh");
                    command.args(["-c", "echo forwarded >&2; echo out; read end"]);
                    let script = Script::new();
                    let running = Child::spawn(command).unwrap().run(script.endpoint());
                    let ending = async {
                        script.until(|seen| seen.input == b"out\n").await;
                        script.finish();
                    };
                    tokio::join!(running, ending);
                }
                part => panic!("no such part: {part}"),
            }
        });
    }
}

/// The tests.
#[cfg(unix)]
mod parent {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Read, Seek, Write, pipe};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command, Stdio};

    use rustix::fs::{OFlags, fcntl_getfl};

    /// What would not fit into any pipe or buffer on the way.
    const MANY: usize = 30_000;

    pub(crate) fn run() {
        let tests: [(&str, fn()); 9] = [
            ("pipes", pipes),
            ("two_sockets", two_sockets),
            ("one_socket", one_socket),
            ("files", files),
            ("output_shared_with_errors", output_shared_with_errors),
            ("flags_are_restored", flags_are_restored),
            ("the_output_ends_before_the_process", the_output_ends_before_the_process),
            ("one_session_at_a_time", one_session_at_a_time),
            ("the_errors_of_a_child_are_forwarded", the_errors_of_a_child_are_forwarded),
        ];
        // No test of these is ignored.
        if std::env::args().any(|argument| argument == "--ignored") {
            return;
        }
        let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
        for (name, test) in tests {
            if filter.as_ref().is_none_or(|filter| name.contains(filter.as_str())) {
                test();
                println!("test {name} ... ok");
            }
        }
    }

    fn start(
        part: &str,
        input: impl Into<Stdio>,
        output: impl Into<Stdio>,
        errors: impl Into<Stdio>,
    ) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .env("STDIO_TEST_PART", part)
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap()
    }

    fn errors_of(child: &mut Child) -> String {
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success());
        text
    }

    /// Writes many lines while the answers are read, and compares them.
    fn converse(mut to_child: impl Write + Send + 'static, mut from_child: impl Read) {
        let lines: String = (0..MANY).map(|number| format!("line {number}\n")).collect();
        let sent = lines.clone();
        let writing = std::thread::spawn(move || to_child.write_all(sent.as_bytes()).unwrap());
        let mut answers = String::new();
        from_child.read_to_string(&mut answers).unwrap();
        writing.join().unwrap();
        assert!(answers == lines, "{} bytes came back of {}", answers.len(), lines.len());
    }

    fn pipes() {
        let mut child = start("echo", Stdio::piped(), Stdio::piped(), Stdio::piped());
        converse(child.stdin.take().unwrap(), child.stdout.take().unwrap());
        assert_eq!(errors_of(&mut child), "outcome: closed\n");
    }

    fn two_sockets() {
        let (to_child, input) = UnixStream::pair().unwrap();
        let (from_child, output) = UnixStream::pair().unwrap();
        let mut child = start("echo", OwnedFd::from(input), OwnedFd::from(output), Stdio::piped());
        converse(to_child, from_child);
        assert_eq!(errors_of(&mut child), "outcome: closed\n");
    }

    /// Shuts the write side down when it is dropped; the other direction lives on in a clone.
    struct HalfClosing(UnixStream);

    impl Write for HalfClosing {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.flush()
        }
    }

    impl Drop for HalfClosing {
        fn drop(&mut self) {
            self.0.shutdown(std::net::Shutdown::Write).unwrap();
        }
    }

    fn one_socket() {
        let (near, far) = UnixStream::pair().unwrap();
        let output = far.try_clone().unwrap();
        let mut child = start("echo", OwnedFd::from(far), OwnedFd::from(output), Stdio::piped());
        converse(HalfClosing(near.try_clone().unwrap()), near);
        assert_eq!(errors_of(&mut child), "outcome: closed\n");
    }

    fn files() {
        let folder = std::env::temp_dir().join(format!("stdio-test-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let create =
            |name| File::options().create(true).read(true).write(true).truncate(true).open(folder.join(name));
        let (mut input, mut output) = (create("in").unwrap(), create("out").unwrap());
        let lines: String = (0..MANY).map(|number| format!("line {number}\n")).collect();
        input.write_all(lines.as_bytes()).unwrap();
        input.rewind().unwrap();
        let mut child = start("echo", input, output.try_clone().unwrap(), Stdio::piped());
        assert_eq!(errors_of(&mut child), "outcome: closed\n");
        let mut answers = String::new();
        output.rewind().unwrap();
        output.read_to_string(&mut answers).unwrap();
        assert!(answers == lines, "{} bytes came back of {}", answers.len(), lines.len());
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn output_shared_with_errors() {
        let (mut from_child, output) = pipe().unwrap();
        let kept = output.try_clone().unwrap();
        let mut child = start("echo", Stdio::piped(), output.try_clone().unwrap(), output);
        let mut to_child = child.stdin.take().unwrap();
        to_child.write_all(b"hello\n").unwrap();
        let mut answer = [0; 6];
        from_child.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello\n");
        assert!(!is_nonblocking(&kept), "or the error output would fail when it is full");
        drop((to_child, kept));
        let mut rest = String::new();
        from_child.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "outcome: closed\n", "the error output goes on after the session");
        assert!(child.wait().unwrap().success());
    }

    fn is_nonblocking(file: impl AsFd) -> bool {
        fcntl_getfl(file).unwrap().contains(OFlags::NONBLOCK)
    }

    fn flags_are_restored() {
        let (input, mut to_child) = pipe().unwrap();
        let (mut from_child, output) = pipe().unwrap();
        let (kept_input, kept_output) = (input.try_clone().unwrap(), output.try_clone().unwrap());
        let mut child = start("echo", input, output, Stdio::piped());
        to_child.write_all(b"hello\n").unwrap();
        let mut answer = [0; 6];
        from_child.read_exact(&mut answer).unwrap();
        assert!(is_nonblocking(&kept_input) && is_nonblocking(&kept_output), "pipes go through the reactor");
        drop(to_child);
        assert_eq!(errors_of(&mut child), "outcome: closed\n");
        assert!(!is_nonblocking(&kept_input) && !is_nonblocking(&kept_output));
    }

    fn the_output_ends_before_the_process() {
        let mut child = start("outlive", Stdio::piped(), Stdio::piped(), Stdio::null());
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "bye\n");
        assert!(child.try_wait().unwrap().is_none(), "it lives on");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn one_session_at_a_time() {
        let mut child = start("twice", Stdio::piped(), Stdio::piped(), Stdio::piped());
        let mut to_child = child.stdin.take().unwrap();
        to_child.write_all(b"hello\n").unwrap();
        // The first session must last until the second has been refused.
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let refused = "second: the transport failed: another session is using the standard input and output";
        assert!(line.starts_with(refused), "{line}");
        drop(to_child);
        line.clear();
        errors.read_line(&mut line).unwrap();
        assert_eq!(line, "third: closed\n");
        assert!(child.wait().unwrap().success());
    }
    fn the_errors_of_a_child_are_forwarded() {
        let mut child = start("parent", Stdio::null(), Stdio::piped(), Stdio::piped());
        assert_eq!(errors_of(&mut child), "forwarded\n");
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "", "what the child says to its parent goes no further");
    }
}
