/** The bar above the list: search, order, and actions for all or the selected downloads. */

import { SORT_KEYS } from '@millrace/shared/bridge/rpc/list-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import * as Menu from '@radix-ui/react-dropdown-menu';
import { type RefObject, useEffect, useState } from 'react';
import { logOut } from '../../api/session.ts';
import { hasPanel } from '../../model/app-state.ts';
import { COLUMNS, toggled } from '../../model/columns/columns.ts';
import { sortBy } from '../../model/filter.ts';
import { shell } from '../../model/shell.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { ButtonMenu, type MenuEntry, MoreMenu } from '../common/menu.tsx';
import { openMini } from '../mini/open-mini.tsx';
import { SelectionTools } from './selection-tools.tsx';
import { Tool } from './tool.tsx';
import { useColumns } from './use-columns.ts';

const TYPING_MS = 150;

export function ToolBar({ search }: { search: RefObject<HTMLInputElement | null> }) {
  const selected = useAppState(({ selection }) => selection.gids.size);
  return (
    <header className={`tool-bar${selected > 1 ? ' selecting' : ''}`}>
      <SideButton />
      <Search field={search} />
      <AddButton />
      {selected > 1 ? <SelectionTools count={selected} /> : <ListTools />}
    </header>
  );
}

/** Shows the side bar where there is no room for it beside the list. */
export function SideButton() {
  const text = useText();
  const app = useApp();
  const sideOpen = useAppState((state) => state.sideOpen);
  return (
    <IconButton
      name="menu"
      label={text.t('side.show')}
      isLarge
      className="only-narrow"
      aria-expanded={sideOpen}
      onClick={() => app.store.set({ sideOpen: !sideOpen })}
    />
  );
}

/** Adds downloads where the side bar with its own button is hidden. */
function AddButton() {
  const text = useText();
  const actions = useActions();
  return (
    <IconButton
      name="add"
      label={text.t('bar.add')}
      isLarge
      className="only-narrow add-narrow"
      onClick={() => actions.add()}
    />
  );
}

function Search({ field }: { field: RefObject<HTMLInputElement | null> }) {
  const text = useText();
  const app = useApp();
  const view = useAppState((state) => state.view);
  const [typed, setTyped] = useState(view.text);
  useEffect(() => setTyped(view.text), [view.text]);
  useEffect(() => {
    if (typed === app.state.view.text) return;
    const timer = setTimeout(() => void app.setView({ ...app.state.view, text: typed }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [app, typed]);
  return (
    <div className="search" role="search">
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        className="input"
        aria-label={text.t('bar.search')}
        placeholder={text.t('bar.search')}
        value={typed}
        maxLength={1024}
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && typed !== '') {
            event.stopPropagation();
            setTyped('');
          } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
            event.preventDefault();
            document.querySelector<HTMLElement>('[role="grid"]')?.focus();
          }
        }}
      />
      {typed !== '' && (
        <IconButton
          name="close"
          size={14}
          label={text.t('bar.clearSearch')}
          onClick={() => setTyped('')}
        />
      )}
    </div>
  );
}

function ListTools() {
  const text = useText();
  const actions = useActions();
  const byStatus = useAppState(({ totals }) => totals?.byStatus);
  const shown = useAppState(hasPanel);
  const running = (byStatus?.active ?? 0) + (byStatus?.queued ?? 0) + (byStatus?.waiting ?? 0);
  return (
    <div className="tools line">
      {running > 0 && (
        <Tool icon="paused" label={text.t('bar.pauseAll')} run={() => void actions.pause()} />
      )}
      {(byStatus?.paused ?? 0) > 0 && (
        <Tool icon="resume" label={text.t('bar.resumeAll')} run={() => void actions.resume()} />
      )}
      <SortMenu />
      <IconButton
        name="panel"
        label={text.t('action.details')}
        isLarge
        className="not-narrow"
        aria-pressed={shown}
        onClick={() => (shown ? actions.setPanel(false) : void actions.showPanel())}
      />
      <AppMenu />
    </div>
  );
}

function SortMenu() {
  const text = useText();
  const app = useApp();
  const view = useAppState((state) => state.view);
  const what = text.t(`sort.${view.sort}` as 'sort.queue');
  const label = text.t('bar.sortedBy', { what });
  return (
    <ButtonMenu
      label={label}
      className="button tool"
      face={
        <>
          <Icon name="sort" />
          <span className="tool-label">{what}</span>
        </>
      }
    >
      <Menu.RadioGroup value={view.sort}>
        {SORT_KEYS.map((sort) => (
          <Menu.RadioItem
            key={sort}
            value={sort}
            className="menu-item"
            onSelect={() => void app.setView(sortBy(view, sort))}
          >
            {view.sort === sort ? <Icon name="check" /> : <span />}
            <span>{text.t(`sort.${sort}`)}</span>
            {view.sort === sort && sort !== 'queue' && (
              <span className="menu-key">
                <span className="hidden">
                  {text.t(view.descending ? 'bar.descending' : 'bar.ascending')}
                </span>
                <Icon name={view.descending ? 'down' : 'up'} size={14} />
              </span>
            )}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
      <ColumnChoices />
    </ButtonMenu>
  );
}

/** Lets users choose the columns; the menu stays open for further choices. */
function ColumnChoices() {
  const text = useText();
  const { all, change } = useColumns();
  const stay = (event: Event) => event.preventDefault();
  return (
    <Menu.Group className="menu-group" aria-label={text.t('bar.columns')}>
      <Menu.Label className="menu-key menu-label">{text.t('bar.columns')}</Menu.Label>
      {COLUMNS.map((name) => {
        const isShown = all.some((one) => one.name === name);
        return (
          <Menu.CheckboxItem
            key={name}
            className="menu-item"
            checked={isShown}
            title={text.t(`list.${name}.help`)}
            onSelect={stay}
            onCheckedChange={() => change((now) => toggled(now, name))}
          >
            {isShown ? <Icon name="check" /> : <span />}
            <span>{text.t(`list.${name}`)}</span>
          </Menu.CheckboxItem>
        );
      })}
      <Menu.Item className="menu-item" onSelect={() => change(undefined)}>
        <Icon name="clear" />
        <span>{text.t('bar.usualColumns')}</span>
      </Menu.Item>
    </Menu.Group>
  );
}

function AppMenu() {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const leave = async () => {
    await logOut();
    app.connection.close();
    app.store.set({ link: { kind: 'logged-out' } });
  };
  const groups: MenuEntry[][] = [
    [{ icon: 'clear', label: text.t('bar.clearDone'), run: () => void actions.clearDone() }],
    [
      {
        icon: 'settings',
        label: text.t('side.settings'),
        key: `${text.t('cap.ctrl')} ,`,
        run: () => actions.openSettings(),
      },
      {
        icon: 'keyboard',
        label: text.t('bar.shortcuts'),
        key: '?',
        run: () => actions.open({ kind: 'keys' }),
      },
    ],
    [{ icon: 'panel', label: text.t('bar.mini'), run: () => void openMini({ app, actions }) }],
    shell === undefined
      ? [{ icon: 'logout', label: text.t('bar.logOut'), run: () => void leave() }]
      : [],
  ];
  return <MoreMenu groups={groups} />;
}
