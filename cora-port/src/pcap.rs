//! Captures as a port: frames are read from one file and written to another.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::capture::{Reader, Unpacked, Writer};
use crate::{Checksums, Counters, OnReceive, OnTransmit, Port, PortError, Upgrade};

/// A capture to read, and one to write.
#[derive(Debug)]
pub struct PcapPort {
    reader: Reader<Unpacked<File>>,
    input: PathBuf,
    writer: Option<Writer<File>>,
    output: PathBuf,
    is_exhausted: bool,
    /// The error of a frame that could not be written.
    failed: Option<std::io::Error>,
    counters: Counters,
}

impl PcapPort {
    /// Opens `input` and creates `output`; without it, frames that leave are only counted.
    ///
    /// # Errors
    /// When `input` is no capture, or `output` can't be created or is the same file.
    pub fn open(input: &Path, output: Option<&Path>) -> Result<Self, PortError> {
        let reader = Reader::open(input)
            .map_err(|cause| PortError::Capture { path: input.into(), cause })?;
        let path = output.unwrap_or(Path::new(""));
        let failed = |cause| PortError::File { path: path.into(), cause };
        let same = output.is_some_and(|output| {
            let real = |path: &Path| path.canonicalize().ok();
            real(output).is_some_and(|real_output| real(input) == Some(real_output))
        });
        if same {
            let cause = std::io::Error::other("it is the capture that is read: write another one");
            return Err(failed(cause));
        }
        let writer = match output {
            Some(output) => {
                let file = File::create(output).map_err(failed)?;
                Some(Writer::new(file).map_err(failed)?)
            }
            None => None,
        };
        Ok(Self {
            reader,
            input: input.into(),
            writer,
            output: path.into(),
            is_exhausted: false,
            failed: None,
            counters: Counters::default(),
        })
    }
}

impl Port for PcapPort {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let mut came = 0;
        while came < most && !self.is_exhausted {
            let damaged = |cause| PortError::Capture { path: self.input.clone(), cause };
            match self.reader.next_frame().map_err(damaged)? {
                // A live run can't use a frame with missing bytes.
                Some(frame) if frame.original_len as usize > frame.bytes.len() => {
                    self.counters.cut_when_captured += 1;
                }
                Some(frame) => {
                    each(frame.bytes);
                    came += 1;
                }
                None => self.is_exhausted = true,
            }
        }
        self.counters.received += came as u64;
        Ok(came)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut taken = 0;
        for frame in frames {
            let written = self.writer.as_mut().map(|it| it.write(time.as_nanos() as u64, frame));
            if let Some(Err(cause)) = written {
                self.failed = Some(cause);
                self.counters.not_taken += 1;
            } else {
                self.counters.transmitted += 1;
                taken += 1;
            }
        }
        taken
    }

    fn flush(&mut self) -> Result<(), PortError> {
        let flushed = self.writer.as_mut().map_or(Ok(()), Writer::flush);
        let done = self.failed.take().map_or(flushed, Err);
        done.map_err(|cause| PortError::File { path: self.output.clone(), cause })
    }

    fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    fn mtu(&self) -> usize {
        crate::capture::MAX_FRAME - 14
    }

    fn checksums(&self) -> Checksums {
        Checksums { on_receive: OnReceive::AsTheyCame, on_transmit: OnTransmit::AsGiven }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn upgrade(&self) -> Upgrade<'_> {
        Upgrade::Refuse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_writes_another_reads() {
        let room = tempfile::tempdir().unwrap();
        let [first, second] = ["first.pcap", "second.pcap"].map(|name| room.path().join(name));
        let mut writer = Writer::new(File::create(&first).unwrap()).unwrap();
        for number in 0..40_u8 {
            writer.write(0, &[number; 60]).unwrap();
        }
        writer.flush().unwrap();
        let mut port = PcapPort::open(&first, Some(&second)).unwrap();
        while !port.is_exhausted() {
            let mut burst = Vec::new();
            port.receive(32, &mut |frame| burst.push(frame.to_vec())).unwrap();
            let frames: Vec<&[u8]> = burst.iter().map(Vec::as_slice).collect();
            assert_eq!(port.transmit(&frames), frames.len());
        }
        port.flush().unwrap();
        let mut again = Reader::open(&second).unwrap();
        for number in 0..40_u8 {
            assert_eq!(again.next_frame().unwrap().unwrap().bytes, [number; 60]);
        }
        assert!(again.next_frame().unwrap().is_none());
        let both = (port.counters().received, port.counters().transmitted);
        assert_eq!(both, (40, 40));
    }

    #[test]
    fn frames_that_were_cut_when_captured_are_counted_and_left_out() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("cut.pcap");
        let mut writer = Writer::new(File::create(&path).unwrap()).unwrap();
        for number in 0..6 {
            writer.write_cut(0, &[7; 60], if number % 3 == 0 { 60 } else { 1500 }).unwrap();
        }
        writer.flush().unwrap();
        let mut port = PcapPort::open(&path, None).unwrap();
        let mut came = 0;
        while !port.is_exhausted() {
            came += port.receive(32, &mut |frame| assert_eq!(frame, [7; 60])).unwrap();
        }
        assert_eq!((came, port.counters().cut_when_captured), (2, 4));
        assert!(port.counters().outcomes().contains(&("cut-when-captured", 4)));
    }

    #[test]
    fn a_capture_is_not_overwritten_while_it_is_read() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a.pcap");
        Writer::new(File::create(&path).unwrap()).unwrap().flush().unwrap();
        let error = PcapPort::open(&path, Some(&path)).unwrap_err();
        assert!(error.to_string().contains("write another one"), "{error}");
        let missing = PcapPort::open(&room.path().join("b.pcap"), None).unwrap_err();
        assert!(missing.to_string().contains("b.pcap"), "{missing}");
    }
}
