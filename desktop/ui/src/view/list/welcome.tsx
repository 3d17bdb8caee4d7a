/** The first steps of a new user: a folder, the browser's extension, a first file. */

import { EXTENSION_PAGE, TEST_FILE } from '@millrace/shared/base/web-pages';
import type { SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';
import { type ReactNode, useId, useState } from 'react';
import { isAbsolutePath, SEEN_CHANGE } from '../../model/first-run.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { DownloadsFolderField } from '../common/folder-field.tsx';

export function Welcome() {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const id = useId();
  const save = (change: SettingsChange) => app.changeSettings(change);
  return (
    <section className="welcome" aria-labelledby={id}>
      <h2 id={id}>{text.t('welcome.title')}</h2>
      <p className="quiet">{text.t('welcome.text')}</p>
      <ol>
        <Step title={text.t('welcome.folder')} note={text.t('welcome.folder.text')}>
          <FolderStep save={save} />
        </Step>
        <Step title={text.t('welcome.browser')} note={text.t('welcome.browser.text')}>
          <a className="button" href={EXTENSION_PAGE} target="_blank" rel="noreferrer">
            {text.t('welcome.browser.get')}
          </a>
        </Step>
        <Step title={text.t('welcome.try')} note={text.t('welcome.try.text')}>
          <button type="button" className="button primary" onClick={() => actions.add()}>
            {text.t('welcome.try.add')}
          </button>
          <button type="button" className="button" onClick={() => actions.add(TEST_FILE)}>
            {text.t('welcome.try.test')}
          </button>
        </Step>
      </ol>
      <button type="button" className="button quiet" onClick={() => void save(SEEN_CHANGE)}>
        {text.t('welcome.done')}
      </button>
    </section>
  );
}

interface StepProps {
  readonly title: string;
  readonly note: string;
  readonly children: ReactNode;
}

function Step({ title, note, children }: StepProps) {
  return (
    <li>
      <h3>{title}</h3>
      <p className="note">{note}</p>
      <div className="welcome-buttons">{children}</div>
    </li>
  );
}

function FolderStep({ save }: { save: (change: SettingsChange) => Promise<boolean> }) {
  const text = useText();
  const kept = useAppState(({ settings }) => settings?.dir ?? '');
  const [dir, setDir] = useState(kept);
  const wrong = !isAbsolutePath(dir);
  return (
    <>
      <DownloadsFolderField value={dir} onChange={setDir} />
      {dir.trim() !== kept && (
        <button
          type="button"
          className="button"
          disabled={wrong}
          onClick={() => void save({ dir: dir.trim() })}
        >
          {text.t('word.save')}
        </button>
      )}
    </>
  );
}
