/** The list of links: only visible rows are mounted, and the keyboard reaches all of them. */

import { Icon } from '@millrace/shared/ui/icons';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, memo, useRef } from 'react';
import { useText } from '../common/context.tsx';
import { allOf, type Choice, moved, ranged, toggled } from './choice.ts';
import type { PickerLink } from './links.ts';

const ROW_PX = 48;

interface ListProps {
  readonly links: readonly PickerLink[];
  /** Places of the shown links, in order. */
  readonly shown: readonly number[];
  readonly choice: Choice;
  readonly setChoice: (choice: Choice) => void;
}

export function LinkList({ links, shown, choice, setChoice }: ListProps) {
  const text = useText();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  const focusRow = choice.focus === undefined ? -1 : shown.indexOf(choice.focus);

  const go = (by: number, extend: boolean) => {
    let next = moved(choice, shown, by);
    if (extend && next.focus !== undefined) {
      // A new range begins with a change of this link's choice.
      const begun = choice.anchor === undefined || choice.focus === undefined;
      next = begun ? toggled(choice, next.focus) : ranged(choice, shown, next.focus);
    }
    setChoice(next);
    if (next.focus !== undefined) virtual.scrollToIndex(shown.indexOf(next.focus));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? ROW_PX) / ROW_PX) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -shown.length,
      End: shown.length,
    };
    const by = steps[event.key];
    if (by !== undefined) go(by, event.shiftKey);
    else if (event.key === ' ' && choice.focus !== undefined && focusRow >= 0) {
      const { focus } = choice;
      setChoice(event.shiftKey ? ranged(choice, shown, focus) : toggled(choice, focus));
    } else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
      setChoice(allOf(choice, shown));
    } else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const row = (event.target as Element).closest<HTMLElement>('[data-place]');
    if (row === null) return;
    const place = Number(row.dataset.place);
    setChoice(event.shiftKey ? ranged(choice, shown, place) : toggled(choice, place));
  };

  return (
    <div
      ref={scroller}
      className="scroller"
      role="listbox"
      tabIndex={0}
      aria-label={text.t('picker.list')}
      aria-multiselectable="true"
      aria-activedescendant={focusRow >= 0 ? `link-${choice.focus}` : undefined}
      onFocus={() => focusRow < 0 && go(0, false)}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <div className="rows" role="presentation" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const place = shown[index];
          const link = place === undefined ? undefined : links[place];
          return (
            link !== undefined &&
            place !== undefined && (
              <LinkRow
                key={place}
                link={link}
                place={place}
                index={index}
                count={shown.length}
                top={start}
                chosen={choice.chosen.has(place)}
                focused={choice.focus === place}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  readonly link: PickerLink;
  readonly place: number;
  readonly index: number;
  readonly count: number;
  readonly top: number;
  readonly chosen: boolean;
  readonly focused: boolean;
}

const LinkRow = memo(function LinkRow(props: RowProps) {
  const { link, place, index, count, top, chosen, focused } = props;
  return (
    <div
      id={`link-${place}`}
      className={`row${chosen ? ' chosen' : ''}${focused ? ' focused' : ''}`}
      role="option"
      aria-selected={chosen}
      aria-posinset={index + 1}
      aria-setsize={count}
      data-place={place}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span className="tick" aria-hidden="true">
        {chosen && <Icon name="check" size={12} />}
      </span>
      <Icon name={link.type === 'other' ? 'file' : link.type} />
      <span className="link">
        <span className="name cut" title={link.url}>
          {link.name}
        </span>
        <span className="meta cut">
          {link.text === '' ? link.host : `${link.host} · ${link.text}`}
        </span>
      </span>
    </div>
  );
});
