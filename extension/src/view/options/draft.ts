/** A field that is saved while the user types, as soon as its value is valid. */

import { useEffect, useRef, useState } from 'react';
import type { Reading } from './read.ts';

/** Time from the last key to saving, ms; leaving the field or the page saves at once. */
const PAUSE_MS = 700;

interface Draft {
  readonly value: string;
  readonly problem: string | undefined;
  readonly onChange: (event: { readonly target: { readonly value: string } }) => void;
  readonly onBlur: () => void;
}

/**
 * Returns the state of a field while the user types.
 *
 * @param kept the value in the settings, written as it would be typed
 * @param write writes a value as it would be typed
 */
export function useDraft<T>(
  kept: string,
  read: (typed: string) => Reading<T>,
  write: (value: T) => string,
  save: (value: T) => void,
): Draft {
  const [typed, setTyped] = useState(kept);
  const unsaved = useRef(false);
  const reading = read(typed);

  const flush = () => {
    if (!unsaved.current || reading.problem !== undefined) return;
    unsaved.current = false;
    if (write(reading.value) !== kept) save(reading.value);
  };
  const latest = useRef(flush);
  latest.current = flush;
  const wouldKeep = useRef((_: string): string | undefined => undefined);
  wouldKeep.current = (text) => {
    const said = read(text);
    return said.problem === undefined ? write(said.value) : undefined;
  };

  // Show a value that was changed elsewhere, or changed back, but not while the user types.
  useEffect(() => {
    if (unsaved.current) return;
    setTyped((now) => (wouldKeep.current(now) === kept ? now : kept));
  }, [kept]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each key puts it off again.
  useEffect(() => {
    const timer = setTimeout(() => latest.current(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);

  useEffect(() => {
    const leave = () => latest.current();
    window.addEventListener('pagehide', leave);
    return () => window.removeEventListener('pagehide', leave);
  }, []);

  return {
    value: typed,
    problem: reading.problem,
    onChange: ({ target }) => {
      unsaved.current = true;
      setTyped(target.value);
    },
    onBlur: () => {
      latest.current();
      // Show the value as it is saved, such as the host of a pasted link.
      if (reading.problem === undefined) setTyped(write(reading.value));
    },
  };
}
