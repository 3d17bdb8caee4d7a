/** The popup: the downloads of all takers, and the switches. */

import { Empty, Loading } from '@millrace/shared/ui/empty';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon, Logo } from '@millrace/shared/ui/icons';
import { useSyncExternalStore } from 'react';
import { useText } from '../common/context.tsx';
import { Switches, TakerLine } from './controls.tsx';
import { DownloadList } from './list.tsx';
import type { PopupModel, PopupView } from './popup-model.ts';

interface PopupProps {
  readonly model: PopupModel;
  readonly openOptions: () => void;
  /** Opens the help for setting up the desktop app. */
  readonly setUp: () => void;
}

export function Popup({ model, openOptions, setUp }: PopupProps) {
  const text = useText();
  const view = useSyncExternalStore(model.subscribe, model.get);
  const { state, problem } = view;
  return (
    <main className="popup">
      <header className="head">
        <Logo size={22} />
        <h1>{text.t('app.name')}</h1>
        <button
          type="button"
          className="button small"
          onClick={() => void model.openApp()}
          hidden={state === undefined || state.desktopProblem !== undefined}
        >
          {text.t('popup.openApp')}
        </button>
        <IconButton name="settings" label={text.t('popup.options')} onClick={openOptions} />
      </header>
      {state !== undefined && problem !== undefined && (
        <div className="banner" role="alert">
          <Icon name="failed" />
          <span>{problem}</span>
          <IconButton name="close" label={text.t('word.dismiss')} onClick={() => model.dismiss()} />
        </div>
      )}
      <Downloads model={model} view={view} />
      {state !== undefined && (
        <footer className="foot">
          <Switches model={model} state={state} />
          <TakerLine state={state} setUp={setUp} />
        </footer>
      )}
    </main>
  );
}

function Downloads({ model, view: { state, problem } }: { model: PopupModel; view: PopupView }) {
  const text = useText();
  if (state === undefined && problem !== undefined) {
    return (
      <Empty icon="failed" title={text.t('popup.failed.title')}>
        <p>{problem}</p>
        <button type="button" className="button" onClick={() => void model.refresh()}>
          {text.t('word.retry')}
        </button>
      </Empty>
    );
  }
  if (state === undefined) return <Loading label={text.t('popup.loading')} rows={5} />;
  if (state.downloads.length > 0) return <DownloadList model={model} downloads={state.downloads} />;
  return (
    <Empty title={text.t('popup.empty.title')}>
      <p>{text.t('popup.empty.text')}</p>
      <p className="note">{text.t('popup.empty.hint')}</p>
    </Empty>
  );
}
