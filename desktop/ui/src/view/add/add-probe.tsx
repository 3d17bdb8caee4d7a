/** Asks servers about the links that were found, when the user wants it. */

import type { FoundLink, ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';
import { useEffect, useRef, useState } from 'react';
import { type AddForm, requestsOf } from '../../model/adding/add-form.ts';
import { batches } from '../../model/text-pieces.ts';
import { bytes } from '../../text/format.ts';
import { useApp, useText } from '../common/context.tsx';

/** Most links that are asked about, the first ones. */
const MAX_PROBED = 200;
/** Links of one call: those under way when the dialog closes are asked about to the end. */
const BATCH = 8;

interface Probing {
  readonly probed: ReadonlyMap<string, ProbedLink>;
  readonly running: boolean;
  readonly start: () => void;
}

const NONE: ReadonlyMap<string, ProbedLink> = new Map();

/** Files that are here already are left out, unless the user takes them back in. */
export function useProbe(
  links: readonly FoundLink[],
  form: AddForm,
  setLeft: (change: (left: ReadonlySet<string>) => ReadonlySet<string>) => void,
): Probing {
  const app = useApp();
  const [probed, setProbed] = useState(NONE);
  const [running, setRunning] = useState(false);
  const round = useRef(0);
  useEffect(() => {
    setProbed(NONE);
    setRunning(false);
    // Other links end the questions about the earlier ones, and so does closing the dialog.
    return () => void (links.length > 0 && round.current++);
  }, [links]);
  const start = () => void ask();
  const ask = async () => {
    const mine = ++round.current;
    const wanted = links.filter(({ exnode }) => !exnode).slice(0, MAX_PROBED);
    let known = NONE;
    setRunning(true);
    for (const some of batches(wanted, BATCH)) {
      const plain = { ...form, start: 'now' as const, file: '', checksum: '' };
      const downloads = requestsOf(plain, some, false);
      const answer = await app.attempt(app.call('millrace.probe', { downloads }));
      if (mine !== round.current) return;
      if (answer === undefined) break;
      const more = some.flatMap(({ url }, i) => {
        const one = answer.links[i];
        return one === undefined ? [] : [[url, one] as const];
      });
      known = new Map([...known, ...more]);
      setProbed(known);
      const here = more.filter(([, one]) => one.here !== undefined).map(([url]) => url);
      if (here.length > 0) setLeft((left) => new Set([...left, ...here]));
    }
    setRunning(false);
  };
  return { probed, running, start };
}

export function ProbeButton({ probing: { probed, running, start } }: { probing: Probing }) {
  const text = useText();
  const sizes = [...probed.values()].flatMap(({ length }) => length ?? []);
  const sum = sizes.reduce((total, one) => total + one, 0);
  const words = text.n('add.probe.total', sizes.length, { size: bytes(text, sum) });
  return (
    <>
      <span className="note" role="status">
        {running ? text.t('add.probe.running') : probed.size > 0 && words}
      </span>
      {!running && probed.size === 0 && (
        <button type="button" className="text-button" onClick={start}>
          {text.t('add.probe')}
        </button>
      )}
    </>
  );
}
