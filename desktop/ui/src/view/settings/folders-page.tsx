import { useEffect, useState } from 'react';
import { shell } from '../../model/shell.ts';
import { useApp, useText } from '../context.tsx';
import { Field } from '../fields.tsx';
import { SaveButton } from './save-button.tsx';
import type { PageProps } from './settings.tsx';

/** An absolute path, here or on Windows. */
const ABSOLUTE = /^(?:\/|[A-Za-z]:[/\\]|\\\\)/;

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
      {state !== '' && (
        <p className="note">
          {text.t('folders.state')} <span className="mono">{state}</span>
        </p>
      )}
    </>
  );
}
