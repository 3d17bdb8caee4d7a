/** One download in the list. */

import { percent } from '@millrace/shared/text/figures';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Bar, RowIcon } from '@millrace/shared/ui/row-signs';
import { memo, useEffect, useRef } from 'react';
import type { DownloadCommand, ShownDownload } from '../../contract/taker.ts';
import { useText } from '../common/context.tsx';
import {
  aboutWords,
  COMMAND_ICONS,
  commandLabel,
  commandsFor,
  failureWords,
  hasBar,
  heightOf,
  keyOf,
  shareOf,
  toneOf,
} from './shown.ts';

interface RowProps {
  readonly download: ShownDownload;
  readonly index: number;
  readonly top: number;
  readonly focused: boolean;
  /** Whether the user is asked to confirm the removal. */
  readonly asked: boolean;
  readonly onFocus: (key: string) => void;
  readonly run: (download: ShownDownload, command: DownloadCommand) => void;
  readonly answer: (download: ShownDownload, remove: boolean) => void;
}

export const Row = memo(function Row(props: RowProps) {
  const { download, index, top, focused, asked, onFocus } = props;
  const key = keyOf(download);
  const tone = toneOf(download);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys.
    <div
      id={`row-${key}`}
      className={`row ${tone}${focused ? ' focused' : ''}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={focused}
      data-status={download.status}
      style={{ transform: `translateY(${top}px)`, height: heightOf(download) }}
      onClick={() => onFocus(key)}
    >
      <RowIcon tone={tone} />
      <span className="row-main" role="gridcell">
        <About download={download} />
      </span>
      {asked ? <Question {...props} /> : <Actions {...props} />}
    </div>
  );
});

function About({ download }: { download: ShownDownload }) {
  const text = useText();
  const { name, taker } = download;
  const place = text.t(`popup.in.${taker}`);
  return (
    <>
      <span className="name cut" title={`${name}\n${place}`}>
        {name}
      </span>
      {download.status === 'error' ? (
        <Failure download={download} />
      ) : (
        <span className="meta cut figures">
          {aboutWords(text, download)}
          <span className="hidden">, {place}</span>
        </span>
      )}
      {hasBar(download) && <Progress download={download} />}
    </>
  );
}

function Failure({ download }: { download: ShownDownload }) {
  const text = useText();
  const { title, help } = failureWords(text, download);
  return (
    <>
      <span className="bad cut" title={title}>
        {title}
      </span>
      <span className="help" title={help}>
        {help}
      </span>
    </>
  );
}

function Progress({ download }: { download: ShownDownload }) {
  const text = useText();
  const share = shareOf(download);
  const bar = (
    <Bar share={share} tone={toneOf(download)} isRunning={download.status === 'active'} />
  );
  if (share === undefined) return bar;
  return (
    <span className="progress">
      {bar}
      <span className="percent figures">{percent(text, share)}</span>
    </span>
  );
}

function Actions({ download, focused, run }: RowProps) {
  const text = useText();
  return (
    <span className="row-actions" role="gridcell">
      {commandsFor(download).map((command) => (
        <IconButton
          key={command}
          name={
            command === 'resume' && download.status === 'error' ? 'retry' : COMMAND_ICONS[command]
          }
          label={commandLabel(text, command, download)}
          of={download.name}
          tabIndex={focused ? 0 : -1}
          onClick={() => run(download, command)}
        />
      ))}
    </span>
  );
}

/** Asks the user to confirm the deletion of bytes that would have to be fetched again. */
function Question({ download, answer }: RowProps) {
  const text = useText();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <span className="question" role="gridcell">
      <span className="row-main">
        <span className="name cut">{download.name}</span>
        <span className="meta">{text.t('remove.ask')}</span>
      </span>
      <button
        ref={keep}
        type="button"
        className="button small"
        aria-label={`${text.t('action.keep')}: ${download.name}`}
        onClick={() => answer(download, false)}
      >
        {text.t('action.keep')}
      </button>
      <button
        type="button"
        className="button small danger"
        aria-label={`${text.t('action.remove')}: ${download.name}`}
        onClick={() => answer(download, true)}
      >
        {text.t('action.remove')}
      </button>
    </span>
  );
}
