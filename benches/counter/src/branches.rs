//! A branch predictor of a long-known textbook kind. It is smaller than those of servers, and never
//! mispredicts one kind of branch.
//!
//! - Two tables of two-bit counters predict whether a conditional branch is taken: one by the
//!   branch, one by the branch and the history of branches. A third table holds, by branch, the
//!   more accurate of the two (S. McFarling, *Combining Branch Predictors*, 1993).
//! - A jump through a register is predicted to its last target after the same history.
//! - Returns are always predicted: processors keep a return stack.

use std::cell::RefCell;

/// The relevant kinds of a block's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ending {
    /// A branch that is taken or not.
    Conditional,
    /// A jump or a call through a register or memory.
    Indirect,
    /// A return, or an ending with a constant target.
    Foretold,
}

/// A block, as the predictor sees it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Block {
    /// Address of its first instruction.
    pub(crate) start: u64,
    /// Address of its last one.
    pub(crate) last: u64,
    /// Address behind it.
    pub(crate) behind: u64,
    pub(crate) ending: Ending,
}

/// Counters of a table; the history has as many values.
const COUNTERS: usize = 1 << 12;
/// Number of targets in the table.
const GOALS: usize = 1 << 9;

/// The predictor of a core.
struct Predictor {
    by_branch: [u8; COUNTERS],
    by_history: [u8; COUNTERS],
    /// From 2 on, the prediction by history wins.
    chooser: [u8; COUNTERS],
    goals: [u64; GOALS],
    /// The history of branches, the latest in the lowest bit.
    history: usize,
    before: Option<Block>,
}

thread_local! {
    /// Each thread of the program counts as a core.
    static PREDICTOR: RefCell<Predictor> = const { RefCell::new(Predictor::NEW) };
}

/// Enters a block, and returns whether the branch before it was mispredicted.
pub(crate) fn enter(block: &Block) -> bool {
    PREDICTOR.with_borrow_mut(|predictor| predictor.enter(block))
}

impl Predictor {
    const NEW: Self = Self {
        by_branch: [1; COUNTERS],
        by_history: [1; COUNTERS],
        chooser: [1; COUNTERS],
        goals: [0; GOALS],
        history: 0,
        before: None,
    };

    fn enter(&mut self, block: &Block) -> bool {
        let Some(before) = self.before.replace(*block) else { return false };
        match before.ending {
            Ending::Conditional => self.decide(before.last, block.start != before.behind),
            Ending::Indirect => self.jump(before.last, block.start),
            Ending::Foretold => false,
        }
    }

    /// Records a taken or untaken branch, and returns whether it was mispredicted.
    fn decide(&mut self, branch: u64, taken: bool) -> bool {
        let own = place(branch);
        let with_history = own ^ self.history;
        let says = |counter: u8| counter >= 2;
        let simple = says(self.by_branch[own]) == taken;
        let seasoned = says(self.by_history[with_history]) == taken;
        let right = if says(self.chooser[own]) { seasoned } else { simple };
        if simple != seasoned {
            learn(&mut self.chooser[own], seasoned);
        }
        learn(&mut self.by_branch[own], taken);
        learn(&mut self.by_history[with_history], taken);
        self.history = (self.history << 1) % COUNTERS + usize::from(taken);
        !right
    }

    /// Records a jump to `goal`, and returns whether it was mispredicted.
    fn jump(&mut self, branch: u64, goal: u64) -> bool {
        let goals = &mut self.goals[(place(branch) ^ self.history) % GOALS];
        std::mem::replace(goals, goal) != goal
    }
}

/// Returns the counter of a branch. The load address of a program does not change the lowest twelve
/// bits of an address.
fn place(branch: u64) -> usize {
    (branch % COUNTERS as u64) as usize
}

/// Trains a two-bit counter, which means yes from 2 on.
fn learn(counter: &mut u8, yes: bool) {
    *counter = if yes { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
}

/// Returns how an aarch64 instruction ends its block (Arm Architecture Reference Manual for
/// A-profile, C4.1.95: branches).
pub(crate) fn of_aarch64(instruction: &[u8]) -> Ending {
    let Ok(bytes) = instruction.try_into() else { return Ending::Foretold };
    let word = u32::from_le_bytes(bytes);
    // B.cond and BC.cond; CBZ, CBNZ, TBZ and TBNZ; BR and BLR.
    if word & 0xff00_0000 == 0x5400_0000 || word & 0x7c00_0000 == 0x3400_0000 {
        Ending::Conditional
    } else if word & 0xffdf_fc1f == 0xd61f_0000 {
        Ending::Indirect
    } else {
        Ending::Foretold
    }
}

/// Returns how an x86-64 instruction ends its block (Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 2: Jcc, LOOP, JMP, CALL).
pub(crate) fn of_x86_64(instruction: &[u8]) -> Ending {
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf2 | 0xf3);
    let prefixes = instruction.iter().take_while(|byte| is_prefix(byte)).count();
    match instruction[prefixes..] {
        [0x70..=0x7f | 0xe0..=0xe3, ..] | [0x0f, 0x80..=0x8f, ..] => Ending::Conditional,
        // The middle bits of the next byte distinguish FF: 2 is a call, 4 is a jump.
        [0xff, next, ..] if matches!(next >> 3 & 7, 2 | 4) => Ending::Indirect,
        _ => Ending::Foretold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a branch with these outcomes, and counts its mispredictions.
    fn wrong(taken: impl Iterator<Item = bool>) -> usize {
        let mut predictor = Predictor::NEW;
        let block = |start, ending| Block { start, last: start + 8, behind: start + 12, ending };
        let branch = block(0x1000, Ending::Conditional);
        let (on, away) = (block(0x100c, Ending::Foretold), block(0x2000, Ending::Foretold));
        let run = taken.map(|taken| {
            let next = if taken { away } else { on };
            usize::from(predictor.enter(&branch)) + usize::from(predictor.enter(&next))
        });
        run.sum()
    }

    #[test]
    fn what_repeats_is_learnt_and_what_is_drawn_is_not() {
        assert!(wrong((0..1_000).map(|_| true)) <= 2);
        assert!(wrong((0..1_000).map(|turn| turn % 3 == 0)) < 30, "a pattern of three");
        let mut seed = 7_u64;
        let mut drawn = || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            seed >> 63 == 1
        };
        let wrong = wrong((0..10_000).map(|_| drawn()));
        assert!((4_500..5_500).contains(&wrong), "{wrong}");
    }

    #[test]
    fn a_jump_goes_where_it_went() {
        let mut predictor = Predictor::NEW;
        let block = |start, ending| Block { start, last: start, behind: start + 4, ending };
        let mut goes = |goal| {
            predictor.enter(&block(0x1000, Ending::Indirect));
            predictor.enter(&block(goal, Ending::Foretold))
        };
        let run = [0x2000, 0x2000, 0x3000, 0x3000].map(&mut goes);
        assert_eq!(run, [true, false, true, false]);
    }

    #[test]
    fn instructions_are_told_apart() {
        let arm = |word: u32| of_aarch64(&word.to_le_bytes());
        // b.ne; cbz x0; tbnz w1, #3; br x16; blr x8; ret; b; bl; svc
        for word in [0x5400_0041, 0xb400_0040, 0x3718_0041] {
            assert_eq!(arm(word), Ending::Conditional, "{word:x}");
        }
        assert_eq!([arm(0xd61f_0200), arm(0xd63f_0100)], [Ending::Indirect; 2]);
        for word in [0xd65f_03c0, 0x1400_0001, 0x9400_0001, 0xd400_0001] {
            assert_eq!(arm(word), Ending::Foretold, "{word:x}");
        }
        // jne; jg near; notrack jmp *%rax; call *8(%rip); ret; call; jmp; incl (%rax); bnd jmp
        let conditional: [&[u8]; 2] = [&[0x75, 0x10], &[0x0f, 0x8f, 0, 1, 0, 0]];
        assert!(conditional.iter().all(|code| of_x86_64(code) == Ending::Conditional));
        let indirect: [&[u8]; 2] = [&[0x3e, 0xff, 0xe0], &[0xff, 0x15, 8, 0, 0, 0]];
        assert!(indirect.iter().all(|code| of_x86_64(code) == Ending::Indirect));
        let others: [&[u8]; 6] = [
            &[0xc3],
            &[0xe8, 1, 2, 3, 4],
            &[0xeb, 0],
            &[0xff, 0x00],
            &[0xf2, 0xe9, 0, 0, 0, 0],
            &[],
        ];
        assert!(others.iter().all(|code| of_x86_64(code) == Ending::Foretold));
    }
}
