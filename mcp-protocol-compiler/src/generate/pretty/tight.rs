//! Lines that need not be broken.

/// Joins the arguments of calls, the parameters of functions and types, and chains of methods.
pub(super) fn tightened(code: &str, width: usize) -> String {
    let lines: Vec<String> = code.lines().map(str::to_owned).collect();
    let mut out = joined(lines, width).join("\n");
    out.push('\n');
    out
}

fn joined(lines: Vec<String>, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let depth = indent(&line);
        // A line that opens a bracket goes with all lines up to the one that closes it, which may open another.
        let mut group = vec![line];
        let mut openers = Vec::new();
        while group.last().is_some_and(|last| opens(last)) {
            openers.push(group.len() - 1);
            let mut inner = Vec::new();
            while let Some(next) = lines.next_if(|next| indent(next) > depth) {
                inner.push(next);
            }
            group.extend(joined(inner, width));
            match lines
                .next_if(|next| indent(next) == depth && next.trim_start().starts_with([')', ']', '>']))
            {
                Some(close) => group.push(close),
                None => break,
            }
        }
        // So does a chain of methods.
        while let Some(next) =
            lines.next_if(|next| indent(next) > depth && next.trim_start().starts_with('.') && !opens(next))
        {
            group.push(next);
        }
        // If not all of it has room on a line, perhaps the last bracket has.
        openers.insert(0, 0);
        let tail = openers.into_iter().find_map(|start| Some((start, one_line(group.get(start..)?, width)?)));
        if let Some((start, line)) = tail {
            group.truncate(start);
            group.push(line);
        }
        out.extend(group);
    }
    out
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn opens(line: &str) -> bool {
    !line.trim_start().starts_with("//") && line.ends_with(['(', '[', '<'])
}

/// The lines as one, if there are several and one has room for them.
fn one_line(lines: &[String], width: usize) -> Option<String> {
    let (first, rest) = lines.split_first()?;
    if rest.is_empty() || lines.iter().any(|line| line.trim_start().starts_with("//")) {
        return None;
    }
    // What goes on behind the last line is a block or the end of a statement; a block inside stays as it is.
    if lines.iter().take(lines.len() - 1).any(|line| line.ends_with(['{', ';', '}'])) {
        return None;
    }
    let mut text = first.clone();
    for line in rest {
        let line = line.trim_start();
        if line.starts_with([')', ']', '>']) {
            let kept = text.trim_end_matches(',').len();
            text.truncate(kept);
        } else if !text.ends_with(['(', '[', '<']) && !line.starts_with('.') {
            text.push(' ');
        }
        text.push_str(line);
    }
    (text.chars().count() <= width).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::pretty::rows::WIDTH;

    #[test]
    fn what_fits_on_a_line_is_on_one() {
        let code = "impl A {\n    pub fn f(\n        &self,\n        params: B,\n    ) -> impl Future<\n        Output = Result<C, D>,\n    > + Send {\n        self.a\n            .b(params)\n    }\n}\n";
        let wanted = "impl A {\n    pub fn f(&self, params: B) -> impl Future<Output = Result<C, D>> + Send {\n        self.a.b(params)\n    }\n}\n";
        assert_eq!(tightened(code, WIDTH), wanted);
    }

    #[test]
    fn the_last_bracket_is_joined_where_the_first_has_no_room() {
        let name = "n".repeat(60);
        let code = format!("fn {name}(\n    {name}: A,\n) -> B<\n    C,\n    D,\n> {{\n}}\n");
        assert_eq!(tightened(&code, WIDTH), format!("fn {name}(\n    {name}: A,\n) -> B<C, D> {{\n}}\n"));
    }

    #[test]
    fn what_does_not_fit_and_blocks_stay() {
        let long = format!("f(\n    {},\n    {},\n)\n", "a".repeat(60), "b".repeat(60));
        assert_eq!(tightened(&long, WIDTH), long);
        let block = "f(\n    |a| {\n        a;\n    },\n)\n";
        assert_eq!(tightened(block, WIDTH), block);
    }
}
