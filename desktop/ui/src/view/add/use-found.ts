/** Has the daemon find the links in a typed text. */

import type { FoundLink, TextFault } from '@millrace/shared/bridge/rpc/adding-api';
import { useEffect, useRef, useState } from 'react';
import { leftAtFirst } from '../../model/adding/found-filter.ts';
import { withoutMagnets } from '../../model/metalinks.ts';
import { MAX_LINKS, MAX_TEXT_CHARS, textPieces } from '../../model/text-pieces.ts';
import { useApp, useAppState } from '../common/context.tsx';

const TYPING_MS = 120;
/** Most commands and patterns whose problems are shown. */
const MAX_PROBLEMS = 5;

interface Found {
  readonly links: readonly FoundLink[];
  readonly truncated: boolean;
  readonly asked: boolean;
  /** True while more of the text is being read. */
  readonly reading: boolean;
  /** Why commands and patterns were not taken. */
  readonly problems: readonly TextFault[];
}

const NOTHING: Found = {
  links: [],
  truncated: false,
  asked: false,
  reading: false,
  problems: [],
};

/** Has the daemon find the links in a text; links already in the list start unchecked. */
export function useFound(
  typed: string,
  setLeft: (change: (left: ReadonlySet<string>) => ReadonlySet<string>) => void,
): Found {
  const app = useApp();
  const [found, setFound] = useState(NOTHING);
  // A dialog may be open before the page has its connection: with a link that was shared with it.
  const isConnected = useAppState(({ link }) => link.kind === 'open');
  /** The text whose links are known, all of them. */
  const read = useRef<string | undefined>(undefined);
  useEffect(() => {
    let wanted = true;
    if (typed.trim() === '') {
      read.current = undefined;
      setFound(NOTHING);
      return;
    }
    // Another connection brings no other links, and asking again would forget what is unchecked.
    if (!isConnected || read.current === typed) return;
    const ask = async () => {
      read.current = undefined;
      const links = new Map<string, FoundLink>();
      const problems = new Map<string, TextFault>();
      let truncated = typed.length > MAX_TEXT_CHARS;
      let shown: number | undefined;
      const show = (reading: boolean) => {
        const all = [...links.values()];
        setFound({
          ...{ links: all, truncated, asked: true, reading },
          problems: [...problems.values()].slice(0, MAX_PROBLEMS),
        });
        // While more is read, the user may check and uncheck the links that are shown already.
        const isFirst = shown === undefined;
        const more = leftAtFirst(all.slice(shown ?? 0));
        setLeft((left) => new Set(isFirst ? more : [...left, ...more]));
        shown = all.length;
      };
      for (const piece of textPieces(withoutMagnets(typed))) {
        const answer = await app.attempt(app.call('millrace.parseText', { text: piece }));
        if (!wanted || answer === undefined) return;
        for (const link of answer.links) {
          if (links.size < MAX_LINKS) links.set(link.url, link);
          else truncated ||= !links.has(link.url);
        }
        truncated ||= answer.truncated;
        for (const fault of answer.problems) problems.set(fault.text, fault);
        if (truncated) break;
        show(true);
      }
      show(false);
      read.current = typed;
    };
    const timer = setTimeout(() => void ask(), TYPING_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [app, typed, setLeft, isConnected]);
  return found;
}
