import { MAX_TRASH_DAYS } from '@millrace/shared/bridge/rpc/settings-api';
import { Switch } from '@millrace/shared/ui/fields';
import { useEffect, useState } from 'react';
import { isAbsolutePath } from '../../model/first-run.ts';
import { useApp, useText } from '../common/context.tsx';
import { DownloadsFolderField } from '../common/folder-field.tsx';
import { NumberField, readWhole } from './number-field.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

const GIB = 1024 ** 3;

const MAX_GIB = 100_000;

function TrashSettings({ settings, save }: PageProps) {
  const text = useText();
  const { trash } = settings;
  const [days, setDays] = useState(String(trash.days));
  const [size, setSize] = useState(String(Math.round(trash.maxBytes / GIB)));
  const keepDays = readWhole(days, 0, MAX_TRASH_DAYS);
  const gib = readWhole(size, 0, MAX_GIB);
  const bad = keepDays === undefined || gib === undefined;
  const tooMuch = (max: number) => text.t('trash.number.bad', { max: text.number(max) });
  const store = async () =>
    bad ? false : save({ trash: { days: keepDays, maxBytes: gib * GIB } });
  return (
    <section className="learned">
      <h4>{text.t('trash.title')}</h4>
      <div className="two">
        <NumberField
          label={text.t('trash.keepDays')}
          value={days}
          note={text.t('trash.keepDays.help')}
          problem={keepDays === undefined ? tooMuch(MAX_TRASH_DAYS) : undefined}
          onChange={setDays}
        />
        <NumberField
          label={text.t('trash.maxSize')}
          value={size}
          note={text.t('trash.maxSize.help')}
          problem={gib === undefined ? tooMuch(MAX_GIB) : undefined}
          onChange={setSize}
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
  const wrong = !isAbsolutePath(dir);
  return (
    <>
      <DownloadsFolderField value={dir} note={text.t('folders.text')} onChange={setDir} />
      <SaveButton
        disabled={wrong || dir.trim() === settings.dir}
        save={() => save({ dir: dir.trim() })}
      />
      <div className="switches">
        <Switch
          label={text.t('folders.browser')}
          note={text.t('folders.browser.help')}
          checked={settings.browserFolder}
          onChange={(on) => void save({ browserFolder: on })}
        />
      </div>
      <TrashSettings settings={settings} save={save} />
      {state !== '' && (
        <p className="note">
          {text.t('folders.state')} <span className="mono">{state}</span>
        </p>
      )}
    </>
  );
}
