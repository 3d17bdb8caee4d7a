import { WEEKDAYS, type WindowView } from '@millrace/shared/bridge/rpc/settings-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { useState } from 'react';
import { readLimit } from '../../model/adding/add-form.ts';
import { weekBars } from '../../model/week.ts';
import { rate } from '../../text/format.ts';
import { useAppState, useText } from '../common/context.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

interface Draft extends Omit<WindowView, 'pause' | 'limit'> {
  readonly key: number;
  readonly pause: boolean;
  readonly speed: string;
}

let lastKey = 0;

export function SchedulePage({ settings, save }: PageProps) {
  const text = useText();
  const [drafts, setDrafts] = useState(() => settings.windows.map(toDraft));
  const read = drafts.map(fromDraft);
  const windows = read.filter((window) => window !== undefined);
  const bad = windows.length < read.length;
  const same = JSON.stringify(windows) === JSON.stringify(settings.windows);
  const change = (key: number, part: Partial<Draft>) =>
    setDrafts(drafts.map((draft) => (draft.key === key ? { ...draft, ...part } : draft)));
  const add = () => {
    const days = WEEKDAYS.slice(0, 5);
    setDrafts([
      ...drafts,
      { key: ++lastKey, days, from: '08:00', to: '18:00', pause: true, speed: '' },
    ]);
  };

  function toDraft({ days, from, to, pause, limit }: WindowView): Draft {
    const speed = limit === undefined ? '' : rate(text, limit).replace('\u00a0', ' ');
    return { key: ++lastKey, days, from, to, pause: pause === true, speed };
  }

  return (
    <>
      <p className="quiet">{text.t('schedule.text')}</p>
      <Week windows={windows} />
      {drafts.length === 0 && <p className="note">{text.t('schedule.empty')}</p>}
      <ul className="windows">
        {drafts.map((draft) => (
          <Window
            key={draft.key}
            draft={draft}
            change={(part) => change(draft.key, part)}
            remove={() => setDrafts(drafts.filter(({ key }) => key !== draft.key))}
          />
        ))}
      </ul>
      <button type="button" className="button small start" onClick={add}>
        <Icon name="add" size={14} />
        {text.t('schedule.add')}
      </button>
      {bad && <p className="note bad">{text.t('schedule.bad')}</p>}
      <SaveButton disabled={bad || same} save={() => save({ windows })} />
    </>
  );
}

/** Reads a window of the schedule. @returns undefined if something is missing */
function fromDraft({ days, from, to, pause, speed }: Draft): WindowView | undefined {
  const limit = readLimit(speed);
  if (days.length === 0 || from === '' || to === '') return undefined;
  if (pause) return { days, from, to, pause: true };
  return typeof limit === 'number' ? { days, from, to, limit } : undefined;
}

interface WindowProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly remove: () => void;
}

function Window({ draft, change, remove }: WindowProps) {
  const text = useText();
  const { days, from, to, pause, speed } = draft;
  const flip = (day: (typeof WEEKDAYS)[number]) =>
    change({ days: WEEKDAYS.filter((one) => (one === day) !== days.includes(one)) });
  const time = (label: string, value: string, set: (value: string) => void) => (
    <input
      type="time"
      className="input"
      aria-label={label}
      value={value}
      onChange={(event) => set(event.target.value)}
    />
  );
  return (
    <li className="window">
      <fieldset>
        <legend className="hidden">{text.t('schedule.days')}</legend>
        {/* Chromium before 86 lays nothing out in a row in a fieldset. */}
        <div className="days">
          {WEEKDAYS.map((day) => (
            <button
              key={day}
              type="button"
              className={days.includes(day) ? 'on' : ''}
              aria-pressed={days.includes(day)}
              onClick={() => flip(day)}
            >
              {text.t(`day.${day}`).slice(0, 2)}
              <span className="hidden">{text.t(`day.${day}`).slice(2)}</span>
            </button>
          ))}
        </div>
      </fieldset>
      {time(text.t('schedule.from'), from, (value) => change({ from: value }))}
      <span aria-hidden="true">–</span>
      {time(text.t('schedule.to'), to, (value) => change({ to: value }))}
      <select
        className="select"
        aria-label={text.t('schedule.effect')}
        value={pause ? 'pause' : 'limit'}
        onChange={(event) => change({ pause: event.target.value === 'pause' })}
      >
        <option value="pause">{text.t('schedule.pause')}</option>
        <option value="limit">{text.t('schedule.slow')}</option>
      </select>
      {pause ? (
        <span />
      ) : (
        <input
          className="input"
          aria-label={text.t('schedule.rate')}
          placeholder={text.t('schedule.rate.placeholder')}
          value={speed}
          onChange={(event) => change({ speed: event.target.value })}
        />
      )}
      <IconButton name="close" size={14} label={text.t('schedule.remove')} onClick={remove} />
    </li>
  );
}

/** Shows the week at a glance: a line for each day. */
function Week({ windows }: { windows: readonly WindowView[] }) {
  const text = useText();
  const schedule = useAppState(({ totals }) => totals?.schedule);
  const bars = weekBars(windows);
  // The Chromium of Electron 9 has no logical property for this offset.
  const start = text.direction === 'rtl' ? 'right' : 'left';
  const now =
    schedule?.now === 'limit' && schedule.limit !== undefined
      ? text.t('schedule.now.limit', { rate: rate(text, schedule.limit) })
      : text.t(schedule?.now === 'pause' ? 'schedule.now.pause' : 'schedule.now.free');
  return (
    <figure className="week" aria-label={text.t('schedule.week')}>
      {WEEKDAYS.map((day, i) => (
        <div key={day} className="week-day">
          <span className="note">{text.t(`day.${day}`).slice(0, 2)}</span>
          <div className="week-line">
            {(bars[i] ?? []).map(({ from, to, pause }) => (
              <i
                key={`${from} ${to} ${pause}`}
                className={pause ? 'pause' : 'slow'}
                style={{
                  [start]: `${(from / 1440) * 100}%`,
                  width: `${((to - from) / 1440) * 100}%`,
                }}
              />
            ))}
          </div>
        </div>
      ))}
      <div className="week-day week-hours note figures" aria-hidden="true">
        <span />
        <div>
          {[0, 6, 12, 18, 24].map((hour) => (
            <span key={hour}>{hour}</span>
          ))}
        </div>
      </div>
      <figcaption className="note">{now}</figcaption>
    </figure>
  );
}
