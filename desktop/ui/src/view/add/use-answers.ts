/** Asks the daemon about links, each by itself, and gives a question up once nobody wants its answer. */

import type { ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';
import { useCallback, useEffect, useId, useRef, useState } from 'react';
import type { LinkQuestion } from '../../model/adding/link-questions.ts';
import { useApp } from '../common/context.tsx';

type Answers = ReadonlyMap<string, ProbedLink>;

interface Asked {
  /** Answers by the keys of questions, while the dialog is open. */
  readonly answers: Answers;
  /** Takes answers that were asked for otherwise. */
  readonly keep: (questions: readonly LinkQuestion[], answers: readonly ProbedLink[]) => void;
  readonly asking: boolean;
}

/**
 * Asks questions once they have stayed the same for a time, and keeps their answers.
 *
 * @param pauseMs time for which the questions must have stayed the same before any is asked
 */
export function useAnswers(questions: readonly LinkQuestion[], pauseMs: number): Asked {
  const app = useApp();
  const id = useId();
  const [answers, setAnswers] = useState<Answers>(new Map());
  /** Questions under way by their keys, with the names under which the daemon knows them. */
  const underWay = useRef(new Map<string, string>());
  const [asking, setAsking] = useState(false);
  const count = useRef(0);

  const keep = useCallback<Asked['keep']>((asked, given) => {
    const more = asked.flatMap(({ key }, i) => {
      const answer = given[i];
      return answer === undefined ? [] : [[key, answer] as const];
    });
    setAnswers((known) => new Map([...known, ...more]));
  }, []);

  const leave = useCallback(
    (wanted: ReadonlySet<string>) => {
      for (const [key, dialog] of underWay.current) {
        if (wanted.has(key)) continue;
        underWay.current.delete(key);
        // The connection may be gone, and the question with it.
        app.call('millrace.probe', { downloads: [], dialog }).catch(() => undefined);
      }
      setAsking(underWay.current.size > 0);
    },
    [app],
  );

  useEffect(() => {
    const ask = async (question: LinkQuestion) => {
      const { key, request } = question;
      const dialog = `${id}${count.current++}`;
      underWay.current.set(key, dialog);
      setAsking(true);
      const asked = { downloads: [request], dialog };
      const answer = await app.call('millrace.probe', asked).catch(() => undefined);
      if (underWay.current.get(key) !== dialog) return;
      underWay.current.delete(key);
      setAsking(underWay.current.size > 0);
      if (answer !== undefined) keep([question], answer.links);
    };
    leave(new Set(questions.map(({ key }) => key)));
    const fresh = questions.filter(({ key }) => !answers.has(key) && !underWay.current.has(key));
    if (fresh.length === 0) return;
    const timer = setTimeout(() => {
      for (const question of fresh) void ask(question);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [app, id, questions, answers, keep, leave, pauseMs]);

  useEffect(() => () => leave(new Set()), [leave]);
  return { answers, keep, asking };
}
