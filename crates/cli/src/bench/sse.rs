//! Event streams as a reader takes them: owns the lines that came and the event they make. Guarantees that an event is
//! given out once, when its blank line came, whatever pieces it came in. Never decodes what an event holds.

/// An event stream so far.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
}

impl Events {
    /// Goes on over the bytes that came next, and hands out the name and the data of every event that they end.
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut event: impl FnMut(&str, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.last() == Some(&b'\n') {
                self.end_line(&mut event)?;
            }
        }
        Ok(())
    }

    fn end_line<E>(&mut self, event: &mut impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            let given = if self.has_data { event(&self.name, &self.data) } else { Ok(()) };
            self.name.clear();
            self.data.clear();
            self.has_data = false;
            self.line.clear();
            return given;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            _ => {}
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            let given = events.feed(piece, |name, data| {
                found.push((name.to_owned(), String::from_utf8_lossy(data).into_owned()));
                Ok::<_, ()>(())
            });
            given.unwrap();
        }
        found
    }

    #[test]
    fn events_come_whole_in_any_pieces() {
        let text: &[u8] = b":hello\n\nevent: data\r\ndata: a\r\ndata:b\r\ndata:  c\r\n\r\nevent:control\ndata:{}\n\nid: 7\n\n";
        let expected = [("data", "a\nb\n c"), ("control", "{}")];
        let expected = expected.map(|(name, data)| (name.to_owned(), data.to_owned()));
        assert_eq!(events(&[text]), expected);
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(events(&single), expected);
    }

    #[test]
    fn an_event_that_is_not_ended_is_not_given_out() {
        assert_eq!(events(&[b"event: data\ndata: a\n"]), []);
    }
}
