import type { ResultOf } from '@millrace/shared/bridge/ui-api';
import { type ChangeEvent, useRef, useState } from 'react';
import {
  exportName,
  FORMATS,
  type Format,
  MAX_IMPORT_BYTES,
  saveText,
} from '../../model/exchange.ts';
import { bytes } from '../../text/format.ts';
import { useApp, useText } from '../context.tsx';
import { Select, Switch } from '../fields.tsx';

/** Skipped lines that are shown; those after them are counted. */
const MAX_SKIPPED = 8;

/** Taking the list out and in. */
export function ExchangePage() {
  const text = useText();
  return (
    <>
      <p className="quiet">{text.t('exchange.text')}</p>
      <Export />
      <Import />
    </>
  );
}

const PARTS = ['all', 'queue', 'history'] as const;

function Export() {
  const text = useText();
  const app = useApp();
  const [format, setFormat] = useState<Format>('json');
  const [which, setWhich] = useState<(typeof PARTS)[number]>('all');
  const [secrets, setSecrets] = useState(false);
  const [working, setWorking] = useState(false);
  const save = async () => {
    setWorking(true);
    const asked = { format, which, secrets: secrets && format !== 'urls' };
    const list = await app.attempt(app.call('millrace.export', asked));
    setWorking(false);
    if (list !== undefined) saveText(exportName(format, Date.now()), list.text);
  };
  const formats = Object.keys(FORMATS) as Format[];
  return (
    <section className="exchange">
      <h4>{text.t('exchange.export')}</h4>
      <div className="two">
        <Select
          label={text.t('exchange.format')}
          options={formats.map((value) => ({ value, label: text.t(`exchange.format.${value}`) }))}
          value={format}
          onChange={setFormat}
        />
        <Select
          label={text.t('exchange.which')}
          options={PARTS.map((value) => ({ value, label: text.t(`exchange.which.${value}`) }))}
          value={which}
          onChange={setWhich}
        />
      </div>
      <Switch
        label={text.t('exchange.secrets')}
        note={text.t('exchange.secrets.help')}
        checked={secrets && format !== 'urls'}
        disabled={format === 'urls'}
        onChange={setSecrets}
      />
      <button
        type="button"
        className="button small start"
        disabled={working}
        onClick={() => void save()}
      >
        {text.t('exchange.export.submit')}
      </button>
    </section>
  );
}

type Outcome = ResultOf<'millrace.import'> | { readonly problem: string };

function Import() {
  const text = useText();
  const app = useApp();
  const field = useRef<HTMLInputElement>(null);
  const [paused, setPaused] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | 'working' | undefined>(undefined);
  const read = async (file: File): Promise<Outcome> => {
    if (file.size > MAX_IMPORT_BYTES) {
      const most = bytes(text, MAX_IMPORT_BYTES);
      return { problem: text.t('exchange.import.large', { name: file.name, most }) };
    }
    try {
      const list = await file.text();
      return await app.call('millrace.import', { text: list, ...(paused ? { paused } : {}) });
    } catch (error) {
      const why = app.reason(error);
      return { problem: text.t('exchange.import.bad', { name: file.name, why }) };
    }
  };
  const take = async (event: ChangeEvent<HTMLInputElement>) => {
    const [file] = event.target.files ?? [];
    if (file === undefined) return;
    setOutcome('working');
    setOutcome(await read(file));
    // The same file can be chosen again.
    if (field.current !== null) field.current.value = '';
  };
  return (
    <section className="exchange">
      <h4>{text.t('exchange.import')}</h4>
      <p className="note">{text.t('exchange.import.text')}</p>
      <Switch label={text.t('exchange.import.paused')} checked={paused} onChange={setPaused} />
      <input
        ref={field}
        type="file"
        hidden
        accept=".json,.txt,.list,.session,text/plain,application/json"
        onChange={(event) => void take(event)}
      />
      <button
        type="button"
        className="button small start"
        disabled={outcome === 'working'}
        onClick={() => field.current?.click()}
      >
        {text.t(outcome === 'working' ? 'exchange.import.working' : 'exchange.import.submit')}
      </button>
      <div role="status" className="exchange-outcome">
        {outcome !== undefined && outcome !== 'working' && <Told outcome={outcome} />}
      </div>
    </section>
  );
}

function Told({ outcome }: { outcome: Outcome }) {
  const text = useText();
  if ('problem' in outcome) return <p className="bad">{outcome.problem}</p>;
  const { gids, skipped } = outcome;
  return (
    <>
      <p>
        {gids.length === 0 ? text.t('exchange.import.nothing') : text.n('toast.added', gids.length)}
      </p>
      {skipped.length > 0 && (
        <>
          <p className="bad">{text.n('exchange.import.skipped', skipped.length)}</p>
          <ul className="note">
            {skipped.slice(0, MAX_SKIPPED).map(({ line, reason }) => (
              <li key={line}>{text.t('exchange.import.line', { n: line, why: reason })}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
