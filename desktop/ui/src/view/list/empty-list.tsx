/** What is shown where there is no list: nothing added yet, no match, still loading, failed. */

import type { Key } from '../../text/text.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Icon } from '../common/icons.tsx';

export function EmptyList() {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const view = useAppState((state) => state.view);
  const showAll = () => void app.setView({ ...view, state: 'all', category: undefined, text: '' });
  if (view.text.trim() !== '') {
    return (
      <Empty icon="search" title={text.t('empty.search.title')}>
        <p>{text.t('empty.search.text', { text: view.text.trim() })}</p>
        <AllButton run={showAll} />
      </Empty>
    );
  }
  if (view.state !== 'all' || view.category !== undefined) {
    const key = view.category === undefined ? view.state : 'category';
    const icon = view.category === undefined ? view.state : 'tag';
    return (
      <Empty icon={icon} title={text.t('empty.filter.title')}>
        <p>{text.t(`empty.filter.${key}` as Key & 'empty.filter.done')}</p>
        <AllButton run={showAll} />
      </Empty>
    );
  }
  return (
    <Empty art title={text.t('empty.title')}>
      <p>{text.t('empty.text')}</p>
      <button type="button" className="button primary" onClick={() => actions.add()}>
        <Icon name="add" />
        {text.t('bar.add')}
      </button>
      <p className="note">{text.t('empty.hint')}</p>
    </Empty>
  );
}

function AllButton({ run }: { run: () => void }) {
  const text = useText();
  return (
    <button type="button" className="button" onClick={run}>
      {text.t('empty.filter.all')}
    </button>
  );
}

export function FailedList({ why }: { why: string }) {
  const text = useText();
  const app = useApp();
  const { view } = app.state;
  return (
    <Empty icon="failed" title={text.t('error.list.title')}>
      <p>{why}</p>
      <button type="button" className="button" onClick={() => void app.setView({ ...view })}>
        {text.t('error.list.retry')}
      </button>
    </Empty>
  );
}

/** Shapes of rows, so that nothing jumps when they come. */
export function LoadingList() {
  const text = useText();
  return (
    <div className="loading" role="status">
      <span className="hidden">{text.t('loading.list')}</span>
      {Array.from({ length: 8 }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: shapes without identity.
        <div key={i} className="ghost" style={{ opacity: 1 - i / 8 }}>
          <span />
          <span style={{ width: `${35 + ((i * 37) % 40)}%` }} />
          <span />
        </div>
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly icon?: Parameters<typeof Icon>[0]['name'];
  readonly art?: boolean;
  readonly title: string;
  readonly children: React.ReactNode;
}

function Empty({ icon, art, title, children }: EmptyProps) {
  return (
    <div className="empty">
      {art ? <Stream /> : icon && <Icon name={icon} size={36} />}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A mill race: many small streams become one. */
function Stream() {
  return (
    <svg className="stream" width="220" height="96" viewBox="0 0 220 96" aria-hidden="true">
      <path d="M4 14C60 14 70 46 118 46h98" />
      <path d="M4 36c46 0 58 12 104 12h108" />
      <path d="M4 60c46 0 58-10 104-10h108" />
      <path d="M4 82c56 0 66-30 114-30h98" />
      <circle cx="166" cy="49" r="26" />
      <path className="spokes" d="M166 23v52M140 49h52M148 31l36 36M184 31l-36 36" />
    </svg>
  );
}
