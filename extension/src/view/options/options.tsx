/** The options page: all options on one page, with a link to each section. */

import { Empty, Loading } from '@millrace/shared/ui/empty';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon, Logo } from '@millrace/shared/ui/icons';
import { type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { useText } from '../common/context.tsx';
import { EdgesSection } from './edges-section.tsx';
import type { Note, OptionsModel } from './options-model.ts';
import { BehaviourSection, PermissionsSection } from './other-sections.tsx';
import { type NotPaired, RemoteSection } from './remote-section.tsx';
import { SECTIONS } from './section.tsx';
import { TakerSection } from './taker-section.tsx';
import { HostsSection, TakingSection } from './taking-section.tsx';

interface OptionsProps {
  readonly model: OptionsModel;
  readonly version: string;
  readonly permissions: readonly string[];
  /** Asks the user to let the extension connect to an origin; only during a click. */
  readonly allow: (origin: string) => Promise<boolean>;
}

export function Options({ model, version, permissions, allow }: OptionsProps) {
  const text = useText();
  const { settings, state, remote, problem, note } = useSyncExternalStore(
    model.subscribe,
    model.get,
  );
  const isLoaded = settings !== undefined;
  const sections = useRef<HTMLElement>(null);
  useEffect(() => {
    // The browser looked for the section in the address before any section existed.
    if (isLoaded && sections.current !== null) return keepInView(sections.current);
  }, [isLoaded]);
  const current = useCurrentSection(sections, isLoaded);
  const save = (change: Parameters<OptionsModel['save']>[0]) => void model.save(change);
  const pair = async (url: string, code: string): Promise<NotPaired | undefined> =>
    (await allow(url)) ? model.pairRemote(url, code) : 'permission';
  return (
    <div className="options">
      <nav className="ways" aria-label={text.t('options.sections')}>
        <div className="brand">
          <Logo size={24} />
          <h1>{text.t('app.name')}</h1>
          <span className="note">{version}</span>
        </div>
        {SECTIONS.map(([name, icon]) => (
          <a key={name} href={`#${name}`} aria-current={name === current ? 'true' : undefined}>
            <Icon name={icon} />
            {text.t(`${name}.title`)}
          </a>
        ))}
      </nav>
      <main className="sections" ref={sections}>
        {settings === undefined && problem === undefined && (
          <Loading label={text.t('options.loading')} rows={8} />
        )}
        {settings === undefined && problem !== undefined && (
          <Empty icon="failed" title={text.t('options.failed.title')}>
            <p>{problem}</p>
            <button type="button" className="button" onClick={() => void model.load()}>
              {text.t('word.retry')}
            </button>
          </Empty>
        )}
        {settings !== undefined && (
          <>
            <TakingSection settings={settings} save={save} />
            <HostsSection settings={settings} save={save} />
            <TakerSection
              settings={settings}
              save={save}
              state={state}
              isPaired={remote?.url !== undefined}
              check={() => void model.checkTakers()}
            />
            <RemoteSection
              settings={settings}
              save={save}
              remote={remote}
              pair={pair}
              forget={() => void model.forgetRemote()}
            />
            <EdgesSection settings={settings} save={save} />
            <BehaviourSection settings={settings} save={save} />
            <PermissionsSection permissions={permissions} />
          </>
        )}
      </main>
      <section className="toasts" aria-label={text.t('word.messages')} aria-live="polite">
        {note !== undefined && <Toast key={note.id} note={note} model={model} />}
      </section>
    </div>
  );
}

/** Returns the name of the section that the user reads: the last one that has reached the top. */
function useCurrentSection(
  sections: RefObject<HTMLElement | null>,
  isLoaded: boolean,
): string | undefined {
  const [current, setCurrent] = useState<string>();
  useEffect(() => {
    const { current: frame } = sections;
    const page = frame?.closest('#app');
    if (!isLoaded || frame === null || !page) return;
    const look = () => {
      const all = [...frame.querySelectorAll<HTMLElement>('.section')];
      // The last sections cannot reach the top of a page that ends with them.
      const isAtEnd = page.scrollTop + page.clientHeight >= page.scrollHeight - 1;
      const passed = all.filter((one) => one.getBoundingClientRect().top <= TOP_PX);
      const target = document.getElementById(location.hash.slice(1));
      const reached = isAtEnd && target !== null ? target : (passed.at(-1) ?? all[0]);
      setCurrent(reached?.id);
    };
    look();
    page.addEventListener('scroll', look, { passive: true });
    return () => page.removeEventListener('scroll', look);
  }, [sections, isLoaded]);
  return current;
}

/** Events with which the user moves around the page. */
const OWN_WAYS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/**
 * Keeps the section in the address at the top while the page still grows around it: the state
 * arrives after the settings, and fonts after both. Stops when the user moves.
 *
 * @returns a function that stops it
 */
function keepInView(sections: HTMLElement): () => void {
  const show = () => {
    document.getElementById(location.hash.slice(1))?.scrollIntoView({ behavior: 'instant' });
  };
  const observer = new ResizeObserver(show);
  const stop = () => {
    observer.disconnect();
    for (const way of OWN_WAYS) removeEventListener(way, stop);
  };
  observer.observe(sections);
  for (const way of OWN_WAYS) addEventListener(way, stop, { passive: true });
  return stop;
}

/** Distance from the top, pixels, at which the reader has reached a section. */
const TOP_PX = 120;
const SHOWN_MS = 8000;

function Toast({ note, model }: { note: Note; model: OptionsModel }) {
  const text = useText();
  const { id, bad } = note;
  useEffect(() => {
    // A failure stays until the user closes it.
    if (bad) return;
    const timer = setTimeout(() => model.dismiss(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [model, id, bad]);
  return (
    <div className={`toast${bad ? ' bad' : ''}`}>
      <span>{note.text}</span>
      {note.undo !== undefined && (
        <button type="button" className="toast-action" onClick={() => void model.undo()}>
          {text.t('word.undo')}
        </button>
      )}
      <IconButton name="close" label={text.t('word.dismiss')} onClick={() => model.dismiss(id)} />
    </div>
  );
}
