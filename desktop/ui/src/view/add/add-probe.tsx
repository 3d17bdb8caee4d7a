/** Asks servers about the links that were found: about a few by itself, about more when the user wants it. */

import type { FoundLink, ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { AddForm } from '../../model/adding/add-form.ts';
import { afterAnswers, afterChoice, NOTHING_LEFT_OUT } from '../../model/adding/left-out.ts';
import {
  asksByItself,
  fewQuestions,
  type LinkQuestion,
  questionsOf,
} from '../../model/adding/link-questions.ts';
import { batches } from '../../model/text-pieces.ts';
import { bytes } from '../../text/format.ts';
import { useApp, useAppState, useText } from '../common/context.tsx';
import { useAnswers } from './use-answers.ts';

/** Most links that are asked about, the first ones. */
const MAX_PROBED = 200;
/** Links of one call: those under way when the dialog closes are asked about to the end. */
const BATCH = 8;
/** Pause in typing after which the dialog asks: a half-typed link leads to another server. */
const TYPING_MS = 500;

interface Probing {
  /** Answers by URL. */
  readonly probed: ReadonlyMap<string, ProbedLink>;
  readonly running: boolean;
  /** Asks about all links anew. */
  readonly start: () => void;
  /** Takes links that the user has checked or unchecked. */
  readonly choose: (urls: readonly string[]) => void;
}

/**
 * Files that are here already or cannot be fetched are left out, unless the user takes them back in.
 *
 * @param mayAsk false: only the user asks, because somebody else has brought the links
 */
export function useProbe(
  links: readonly FoundLink[],
  form: AddForm,
  mayAsk: boolean,
  setLeft: (change: (left: ReadonlySet<string>) => ReadonlySet<string>) => void,
): Probing {
  const app = useApp();
  const automatic = useAppState(({ settings }) => asksByItself(settings)) && mayAsk;
  const questions = useMemo(() => questionsOf(links.slice(0, MAX_PROBED), form), [links, form]);
  const few = useMemo(() => (automatic ? fewQuestions(links, form) : []), [automatic, links, form]);
  const { answers, keep, asking } = useAnswers(few, TYPING_MS);
  const [running, setRunning] = useState(false);
  const round = useRef(0);
  useEffect(() => {
    setRunning(false);
    // Other links end the questions about the earlier ones, and so does closing the dialog.
    return () => void (links.length > 0 && round.current++);
  }, [links]);

  const probed = useMemo(() => {
    const known = questions.flatMap(({ url, key }) => {
      const answer = answers.get(key);
      return answer === undefined ? [] : [[url, answer] as const];
    });
    return new Map(known);
  }, [questions, answers]);
  const leftOut = useRef({ links, now: NOTHING_LEFT_OUT });
  useEffect(() => {
    const { now: before } = leftOut.current;
    const isSame = leftOut.current.links === links;
    const { leftOut: now, out, back } = afterAnswers(isSame ? before : NOTHING_LEFT_OUT, probed);
    leftOut.current = { links, now };
    if (out.length + back.length === 0) return;
    setLeft((left) => new Set([...left, ...out].filter((url) => !back.includes(url))));
  }, [probed, links, setLeft]);
  const choose = (urls: readonly string[]) => {
    leftOut.current = { links, now: afterChoice(leftOut.current.now, urls) };
  };

  const ask = async () => {
    const mine = ++round.current;
    setRunning(true);
    for (const some of batches<LinkQuestion>(questions, BATCH)) {
      const downloads = some.map(({ request }) => request);
      const answer = await app.attempt(app.call('millrace.probe', { downloads }));
      if (mine !== round.current) return;
      if (answer === undefined) break;
      keep(some, answer.links);
    }
    setRunning(false);
  };
  return { probed, running: running || asking, start: () => void ask(), choose };
}

export function ProbeButton({ probing: { probed, running, start } }: { probing: Probing }) {
  const text = useText();
  const answers = [...probed.values()];
  const sizes = answers.flatMap(({ length }) => length ?? []);
  const sum = sizes.reduce((total, one) => total + one, 0);
  const words = text.n('add.probe.total', sizes.length, { size: bytes(text, sum) });
  const hasFailed = answers.some(({ problem }) => problem !== undefined);
  return (
    <>
      <span className="note" role="status">
        {running ? text.t('add.probe.running') : sizes.length > 0 && words}
      </span>
      {!running && (probed.size === 0 || hasFailed) && (
        <button type="button" className="text-button" onClick={start}>
          {text.t(hasFailed ? 'add.probe.again' : 'add.probe')}
        </button>
      )}
    </>
  );
}
