//! A check for well-formed XML, for pictures and pages.

/// Counts the elements of an XML document of elements and text.
///
/// # Errors
/// The place at which the text is not XML.
pub fn well_formed(text: &str) -> Result<usize, String> {
    let (mut open, mut elements, mut rest) = (Vec::new(), 0, text.trim_end());
    while let Some((before, behind)) = rest.split_once('<') {
        let entities = before.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
        if entities.contains(['&', '>']) || (open.is_empty() && !before.is_empty()) {
            return Err(format!("text `{before}`"));
        }
        let (tag, behind) = behind.split_once('>').ok_or("a tag without end")?;
        rest = behind;
        let fail = || format!("tag <{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            (open.pop() == Some(name)).then_some(()).ok_or_else(fail)?;
            continue;
        }
        // Two roots are one too many.
        (elements == 0 || !open.is_empty()).then_some(()).ok_or_else(fail)?;
        elements += 1;
        let whole = tag.strip_suffix('/');
        let (name, attributes) = split_name(whole.unwrap_or(tag));
        quoted(attributes).then_some(()).ok_or_else(fail)?;
        if whole.is_none() {
            open.push(name);
        }
    }
    (open.is_empty() && rest.is_empty())
        .then_some(elements)
        .ok_or_else(|| format!("open: {open:?}"))
}

fn split_name(tag: &str) -> (&str, &str) {
    tag.split_once(char::is_whitespace).unwrap_or((tag, ""))
}

/// Returns whether the text has only attributes of the form `name="value"`.
fn quoted(attributes: &str) -> bool {
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let Some((name, behind)) = rest.split_once("=\"") else { return false };
        let Some((value, behind)) = behind.split_once('"') else { return false };
        if name.is_empty() || name.contains(char::is_whitespace) || value.contains('<') {
            return false;
        }
        rest = behind.trim_start();
    }
    true
}
