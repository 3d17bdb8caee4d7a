import { MAX_TRASH_DAYS } from '@millrace/shared/bridge/settings-api';
import { useEffect, useState } from 'react';
import { shell } from '../../model/shell.ts';
import { useApp, useText } from '../context.tsx';
import { Field } from '../fields.tsx';
import { SaveButton } from './save-button.tsx';
import type { PageProps } from './settings.tsx';

/** An absolute path, here or on Windows. */
const ABSOLUTE = /^(?:\/|[A-Za-z]:[/\\]|\\\\)/;

const GIB = 1024 ** 3;

/** @returns undefined: no whole number of that range */
function readNumber(typed: string, max: number): number | undefined {
  const number = Number(typed);
  const good = typed.trim() !== '' && Number.isInteger(number) && number >= 0 && number <= max;
  return good ? number : undefined;
}

function TrashSettings({ settings, save }: PageProps) {
  const text = useText();
  const { trash } = settings;
  const [days, setDays] = useState(String(trash.days));
  const [size, setSize] = useState(String(Math.round(trash.maxBytes / GIB)));
  const keepDays = readNumber(days, MAX_TRASH_DAYS);
  const gib = readNumber(size, 100_000);
  const bad = keepDays === undefined || gib === undefined;
  const store = async () =>
    bad ? false : save({ trash: { days: keepDays, maxBytes: gib * GIB } });
  return (
    <section className="learned">
      <h4>{text.t('trash.title')}</h4>
      <div className="two">
        <Field
          label={text.t('trash.keepDays')}
          inputMode="numeric"
          value={days}
          note={text.t('trash.keepDays.help')}
          problem={
            keepDays === undefined
              ? text.t('trash.number.bad', { max: text.number(MAX_TRASH_DAYS) })
              : undefined
          }
          onChange={(event) => setDays(event.target.value)}
        />
        <Field
          label={text.t('trash.maxSize')}
          inputMode="numeric"
          value={size}
          note={text.t('trash.maxSize.help')}
          problem={
            gib === undefined
              ? text.t('trash.number.bad', { max: text.number(100_000) })
              : undefined
          }
          onChange={(event) => setSize(event.target.value)}
        />
      </div>
      <SaveButton
        disabled={bad || (keepDays === trash.days && gib * GIB === trash.maxBytes)}
        save={store}
      />
    </section>
  );
}

export function FoldersPage({ settings, save }: PageProps) {
  const text = useText();
  const app = useApp();
  const [dir, setDir] = useState(settings.dir);
  const [state, setState] = useState('');
  useEffect(() => {
    app.call('millrace.info', {}).then(
      (info) => setState(info.state),
      () => undefined,
    );
  }, [app]);
  const chooseFolder = async () => {
    const chosen = await shell?.chooseFolder(dir);
    if (chosen) setDir(chosen);
  };
  const wrong = !ABSOLUTE.test(dir.trim());
  return (
    <>
      <p className="quiet">{text.t('folders.text')}</p>
      <Field
        label={text.t('folders.dir')}
        value={dir}
        problem={wrong ? text.t('folders.absolute') : undefined}
        onChange={(event) => setDir(event.target.value)}
        after={
          shell && (
            <button type="button" className="button" onClick={() => void chooseFolder()}>
              {text.t('folders.choose')}
            </button>
          )
        }
      />
      <SaveButton
        disabled={wrong || dir.trim() === settings.dir}
        save={() => save({ dir: dir.trim() })}
      />
      <TrashSettings settings={settings} save={save} />
      {state !== '' && (
        <p className="note">
          {text.t('folders.state')} <span className="mono">{state}</span>
        </p>
      )}
    </>
  );
}
