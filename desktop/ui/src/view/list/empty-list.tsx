/** Messages in place of a list: nothing added yet, no match, still loading, failed. */

import { Empty, Loading } from '@millrace/shared/ui/empty';
import { Icon } from '@millrace/shared/ui/icons';
import { isFirstRun } from '../../model/first-run.ts';
import type { Key } from '../../text/text.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Welcome } from './welcome.tsx';

export function EmptyList() {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const view = useAppState((state) => state.view);
  const isFirst = useAppState(({ settings }) => isFirstRun(settings));
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
  if (isFirst) return <Welcome />;
  return (
    <Empty title={text.t('empty.title')}>
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

export function LoadingList() {
  return <Loading label={useText().t('loading.list')} rows={8} end />;
}
