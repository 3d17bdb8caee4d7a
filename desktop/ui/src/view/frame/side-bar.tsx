/** The side bar: filters, total speed, and the way to the settings. */

import { Icon, type IconName, Logo } from '@millrace/shared/ui/icons';
import { countOf, STATE_FILTERS, type StateFilter, type View } from '../../model/filter.ts';
import { liveCount } from '../../model/shares/shares.ts';
import { clock, rate } from '../../text/format.ts';
import { categoryName, isKnown } from '../common/category-name.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Sparkline } from '../list/sparkline.tsx';

const NONE: readonly never[] = [];

export function SideBar() {
  const text = useText();
  const actions = useActions();
  const open = useAppState(({ sideOpen }) => sideOpen);
  return (
    <nav className={`side${open ? ' open' : ''}`} aria-label={text.t('side.label')}>
      <div className="brand">
        <Logo />
        <h1>{text.t('app.name')}</h1>
      </div>
      <div className="side-add">
        <button type="button" className="button primary" onClick={() => actions.add()}>
          <Icon name="add" />
          {text.t('bar.add')}
        </button>
        <button
          type="button"
          className="button"
          onClick={() => actions.open({ kind: 'send', files: [] })}
        >
          <Icon name="up" />
          {text.t('bar.send')}
        </button>
      </div>
      <div className="side-filters">
        <Filters />
        <Categories />
        <SharedItem />
      </div>
      <Speed />
      <TrashItem />
      <button type="button" className="side-item" onClick={() => actions.openSettings()}>
        <Icon name="settings" />
        <span>{text.t('side.settings')}</span>
      </button>
    </nav>
  );
}

function SharedItem() {
  const text = useText();
  const actions = useActions();
  const count = useAppState(({ shares }) => liveCount(shares ?? NONE));
  const chosen = useAppState(({ section }) => section === 'shared');
  return (
    <ul>
      <li>
        <button
          type="button"
          className={`side-item${chosen ? ' chosen' : ''}`}
          aria-current={chosen ? 'true' : undefined}
          onClick={() => actions.shares.show()}
        >
          <Icon name="up" />
          <span className="cut">{text.t('side.shared')}</span>
          <span className="count figures">{count > 0 ? text.number(count) : ''}</span>
        </button>
      </li>
    </ul>
  );
}

function TrashItem() {
  const text = useText();
  const actions = useActions();
  const count = useAppState(({ totals }) => totals?.trash.count ?? 0);
  return (
    <button type="button" className="side-item" onClick={() => actions.open({ kind: 'trash' })}>
      <Icon name="remove" />
      <span>{text.t('side.trash')}</span>
      <span className="count figures">{count > 0 ? text.number(count) : ''}</span>
    </button>
  );
}

function Filters() {
  const text = useText();
  const totals = useAppState((state) => state.totals);
  return (
    <ul>
      {STATE_FILTERS.map((state) => (
        <FilterItem
          key={state}
          icon={state}
          label={text.t(`filter.${state}`)}
          count={countOf(totals, state)}
          alarm={state === 'failed'}
          choose={(view) => ({ ...view, state, category: undefined })}
          isChosen={(view) => view.state === state && view.category === undefined}
        />
      ))}
    </ul>
  );
}

function Categories() {
  const text = useText();
  const categories = useAppState(({ settings }) => settings?.categories);
  const counts = useAppState(({ totals }) => totals?.byCategory);
  const used = (categories ?? []).filter(({ name }) => (counts?.[name] ?? 0) > 0);
  if (used.length === 0) return null;
  return (
    <>
      <h2 className="side-head">{text.t('side.categories')}</h2>
      <ul>
        {used.map(({ name }) => (
          <FilterItem
            key={name}
            icon={isKnown(name) ? name : 'tag'}
            label={categoryName(text, name)}
            count={counts?.[name] ?? 0}
            choose={(view) => ({ ...view, state: 'all' as StateFilter, category: name })}
            isChosen={(view) => view.category === name}
          />
        ))}
      </ul>
    </>
  );
}

interface FilterProps {
  readonly icon: IconName;
  readonly label: string;
  readonly count: number;
  readonly alarm?: boolean;
  readonly choose: (view: View) => View;
  readonly isChosen: (view: View) => boolean;
}

function FilterItem({ icon, label, count, alarm, choose, isChosen }: FilterProps) {
  const app = useApp();
  const text = useText();
  const view = useAppState((state) => state.view);
  const isList = useAppState(({ section }) => section === 'downloads');
  const chosen = isList && isChosen(view);
  return (
    <li>
      <button
        type="button"
        className={`side-item${chosen ? ' chosen' : ''}`}
        aria-current={chosen ? 'true' : undefined}
        onClick={() => void app.setView(choose(view))}
      >
        <Icon name={icon} />
        <span className="cut">{label}</span>
        <span className={`count figures${alarm && count > 0 ? ' alarm' : ''}`}>
          {count > 0 ? text.number(count) : ''}
        </span>
      </button>
    </li>
  );
}

function Speed() {
  const text = useText();
  const actions = useActions();
  const totals = useAppState((state) => state.totals);
  const settings = useAppState((state) => state.settings);
  if (totals === undefined) return null;
  const { now, nextChangeAt, limit: slower } = totals.schedule;
  const then = totals.whenDone?.what;
  const limit = settings?.limits.limit ?? null;
  const time = nextChangeAt === undefined ? '' : clock(text, nextChangeAt);
  return (
    <section className="side-speed" aria-label={text.t('side.speed')}>
      <Sparkline />
      <div className="side-rate figures">
        {totals.byStatus.active > 0 || totals.bytesPerSecond > 0 ? (
          rate(text, totals.bytesPerSecond)
        ) : (
          <span className="quiet">{text.t('side.idle')}</span>
        )}
      </div>
      {now !== 'free' && (
        <p className="note">
          <button
            type="button"
            className="text-button"
            onClick={() => actions.openSettings('schedule')}
          >
            {now === 'pause' || slower === undefined
              ? text.t('side.scheduled.pause', { time })
              : text.t('side.scheduled.limit', { time })}
          </button>
        </p>
      )}
      {then && (
        <p className="note">
          <button
            type="button"
            className="text-button"
            onClick={() => actions.openSettings('after')}
          >
            {text.t(`side.then.${then}`)}
          </button>
        </p>
      )}
      <button
        type="button"
        className="text-button note"
        onClick={() => actions.open({ kind: 'limit' })}
      >
        {limit === null
          ? text.t('side.noLimit')
          : text.t('side.limit', { rate: rate(text, limit) })}
      </button>
    </section>
  );
}
