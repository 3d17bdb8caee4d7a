/** The panel beside the list: the details of one download. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { DownloadDetail } from '@millrace/shared/bridge/rpc/detail-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon, type IconName } from '@millrace/shared/ui/icons';
import * as Tabs from '@radix-ui/react-tabs';
import {
  canPause,
  canResume,
  canRetry,
  hasFile,
  remedyOf,
  shareOf,
  suggestsRepair,
} from '../../model/failure.ts';
import { isOwnMachine, shell } from '../../model/shell.ts';
import { bytes, duration, rate } from '../../text/format.ts';
import { useActions, useAppState, useRow, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';
import { Progress } from '../common/progress.tsx';
import { stateWords } from '../common/state-words.ts';
import { BlockMap } from './block-map.tsx';
import { Fact } from './fact.tsx';
import { FileFacts } from './file-facts.tsx';
import { Log } from './log.tsx';
import { Sources } from './sources.tsx';
import { SpeedGraph } from './speed-graph.tsx';

export function Details() {
  const text = useText();
  const actions = useActions();
  const inspected = useAppState((state) => state.inspected);
  const detail = useAppState((state) => state.detail);
  const row = useRow(inspected);
  const label =
    row === undefined ? text.t('action.details') : text.t('details.label', { name: row.name });
  return (
    <aside className="details" aria-label={label}>
      <IconButton
        name="close"
        label={text.t('details.close')}
        className="details-close"
        onClick={() => actions.setPanel(false)}
      />
      {row === undefined ? (
        <div className="empty">
          <Icon name="panel" size={28} />
          <p>{text.t('details.nothing')}</p>
        </div>
      ) : (
        <Download row={row} detail={detail?.gid === row.gid ? detail : undefined} />
      )}
    </aside>
  );
}

interface DownloadProps {
  readonly row: DownloadView;
  readonly detail: DownloadDetail | undefined;
}

const TABS = ['overview', 'sources', 'log', 'file'] as const;

function Download({ row, detail }: DownloadProps) {
  const text = useText();
  return (
    <>
      <Header row={row} />
      <Tabs.Root className="tabs" defaultValue="overview" dir={text.direction}>
        <Tabs.List className="tab-list" aria-label={text.t('action.details')}>
          {TABS.map((tab) => (
            <Tabs.Trigger key={tab} value={tab} className="tab">
              {text.t(`details.tab.${tab}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value="overview" className="tab-page">
          <Overview row={row} detail={detail} />
        </Tabs.Content>
        <Tabs.Content value="sources" className="tab-page">
          <Sources sources={detail?.sources ?? []} />
        </Tabs.Content>
        <Tabs.Content value="log" className="tab-page">
          <Log entries={detail?.log ?? []} />
        </Tabs.Content>
        <Tabs.Content value="file" className="tab-page">
          <FileFacts row={row} detail={detail} />
        </Tabs.Content>
      </Tabs.Root>
    </>
  );
}

function Header({ row }: { row: DownloadView }) {
  const text = useText();
  const now = useNow(1000);
  return (
    <div className="details-head">
      <h2 title={row.name}>{row.name}</h2>
      <p className={row.status === 'error' ? 'bad' : 'quiet'}>
        {row.status === 'error' && row.error !== undefined
          ? text.error(row.error).title
          : [
              stateWords(text, row, now),
              row.status === 'active' && row.bytesPerSecond > 0 && rate(text, row.bytesPerSecond),
              row.status === 'active' &&
                row.etaMs !== undefined &&
                text.t('details.left', { time: duration(row.etaMs) }),
            ]
              .filter((part) => part !== false)
              .join(' · ')}
      </p>
      <div className="row-progress large">
        <Progress row={row} share={shareOf(row)} />
      </div>
      {row.error !== undefined && <Failure row={row} />}
      <Buttons row={row} />
    </div>
  );
}

function Failure({ row }: { row: DownloadView }) {
  const text = useText();
  if (row.error === undefined) return null;
  const { title, help } = text.error(row.error);
  return (
    <div className="failure" role="note">
      {row.status !== 'error' && <strong>{title}</strong>}
      <p>{help}</p>
      {row.error.detail !== '' && <p className="mono detail">{text.detail(row.error)}</p>}
    </div>
  );
}

function Buttons({ row }: { row: DownloadView }) {
  const text = useText();
  const actions = useActions();
  const { gid } = row;
  const button = (icon: IconName, label: string, run: () => void, main = false) => (
    <button type="button" className={`button small${main ? ' primary' : ''}`} onClick={run}>
      <Icon name={icon} size={14} />
      {label}
    </button>
  );
  const remedy = remedyOf(row);
  const failed = row.status === 'error';
  const icons = { newLink: 'link', change: 'settings', edges: 'edge', proxy: 'proxy' } as const;
  return (
    <div className="details-buttons">
      {failed &&
        remedy !== 'retry' &&
        button(icons[remedy], text.t(`action.${remedy}`), () => actions.remedy(gid, remedy), true)}
      {canRetry(row) &&
        button(
          'retry',
          text.t('action.retry'),
          () => void actions.retry([gid]),
          failed && remedy === 'retry',
        )}
      {canPause(row) && button('paused', text.t('action.pause'), () => void actions.pause([gid]))}
      {canResume(row) &&
        button('resume', text.t('action.resume'), () => void actions.resume([gid]), true)}
      {shell !== undefined &&
        hasFile(row) &&
        button('file', text.t('action.openFile'), () => void actions.openFile(gid), true)}
      {shell !== undefined &&
        hasFile(row) &&
        button('folder', text.t('action.showInFolder'), () => void actions.showInFolder(gid))}
      {isOwnMachine &&
        suggestsRepair(row) &&
        button('retry', text.t('action.repair.more'), () => actions.open({ kind: 'repair', gid }))}
      {row.status === 'complete'
        ? button('clear', text.t('action.takeOff'), () => void actions.remove([gid]))
        : button('remove', text.t('action.remove'), () => void actions.remove([gid]))}
    </div>
  );
}

function Overview({ row, detail }: DownloadProps) {
  const text = useText();
  const samples = detail?.speed.bytesPerSecond ?? [];
  const took = row.startedAt === undefined ? undefined : row.activeMs;
  // A download that does not run has a graph only of the time when it ran.
  const hasGraph = row.status === 'active' || (samples.length > 1 && Math.max(...samples) > 0);
  const cells = detail?.map.stored.length ?? 0;
  return (
    <>
      <section>
        <div className="section-head">
          <h3>{text.t('details.blocks')}</h3>
          {cells > 0 && row.length !== undefined && (
            <span className="note figures">
              {text.t('details.blocks.each', { size: bytes(text, row.length / cells) })}
            </span>
          )}
        </div>
        {detail !== undefined && (
          <BlockMap map={detail.map} sources={detail.sources} share={shareOf(row) ?? 0} />
        )}
      </section>
      {hasGraph && (
        <section>
          <div className="section-head">
            <h3>{text.t('details.speed')}</h3>
            <span className="note figures">
              {row.status === 'active'
                ? text.t('details.speed.now', { rate: rate(text, row.bytesPerSecond) })
                : samples.length > 0 &&
                  text.t('details.speed.peak', { rate: rate(text, Math.max(...samples)) })}
            </span>
          </div>
          {detail !== undefined && <SpeedGraph speed={detail.speed} />}
        </section>
      )}
      <dl className="facts figures">
        <Fact name={text.t('details.stored')}>
          {row.length === undefined
            ? bytes(text, row.storedBytes)
            : text.t('list.of', {
                part: bytes(text, row.storedBytes),
                whole: bytes(text, row.length),
              })}
        </Fact>
        <Fact name={text.t('details.received')}>{bytes(text, row.receivedBytes)}</Fact>
        {row.status === 'complete' && took !== undefined && (
          <Fact name={text.t('details.took')}>{duration(took)}</Fact>
        )}
        {row.status === 'complete' && took !== undefined && took > 0 && (
          <Fact name={text.t('details.average')}>
            {rate(text, (row.receivedBytes / took) * 1000)}
          </Fact>
        )}
        {row.limit !== undefined && (
          <Fact name={text.t('change.limit')}>{rate(text, row.limit)}</Fact>
        )}
      </dl>
    </>
  );
}
