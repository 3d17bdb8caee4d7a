/** The list of links with its filters, and the button that adds the chosen links. */

import { Empty } from '@millrace/shared/ui/empty';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { type KeyboardEvent, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { useBackground, useText } from '../common/context.tsx';
import { whyNot } from '../common/why-not.ts';
import { allOf, type Choice, NOTHING, without } from './choice.ts';
import { LinkList } from './link-list.tsx';
import {
  countTypes,
  type LinkType,
  type Listed,
  MAX_LINKS,
  type PickerLink,
  shownLinks,
  typeKey,
} from './links.ts';

type Adding =
  | { readonly is: 'no' }
  | { readonly is: 'running' }
  | { readonly is: 'failed'; readonly why: string }
  | { readonly is: 'done'; readonly added: number; readonly failed: number };

/** Lets the user choose links and add them. @param page URL of the page that contains the links */
export function Selection({ listed: { links, cut }, page }: { listed: Listed; page: string }) {
  const text = useText();
  const background = useBackground();
  const [search, setSearch] = useState('');
  const [type, setType] = useState<LinkType | 'all'>('all');
  const [choice, setChoice] = useState<Choice>(NOTHING);
  const [adding, setAdding] = useState<Adding>({ is: 'no' });
  const wanted = useDeferredValue(search);
  const shown = useMemo(() => shownLinks(links, wanted, type), [links, wanted, type]);
  const count = choice.chosen.size;

  const add = async () => {
    if (count === 0) return;
    setAdding({ is: 'running' });
    const chosen = links.filter((_, index) => choice.chosen.has(index));
    try {
      const answer = await background.ask({
        type: 'add',
        links: chosen.map(({ url }) => ({ url, referrer: page })),
      });
      setAdding({ is: 'done', ...answer });
    } catch (error) {
      setAdding({ is: 'failed', why: whyNot(text, error) });
    }
  };
  const reset = () => {
    setSearch('');
    setType('all');
  };

  if (adding.is === 'done') {
    const back = () => {
      setChoice(NOTHING);
      setAdding({ is: 'no' });
    };
    return <Result added={adding.added} failed={adding.failed} back={back} />;
  }
  return (
    <>
      <Filters links={links} search={search} setSearch={setSearch} type={type} setType={setType} />
      {cut && (
        <p className="cut-note note">{text.t('picker.cut', { n: text.number(MAX_LINKS) })}</p>
      )}
      {shown.length === 0 ? (
        <Empty icon="search" title={text.t('picker.noMatch.title')}>
          <p>{text.t('picker.noMatch.text')}</p>
          <button type="button" className="button" onClick={reset}>
            {text.t('picker.noMatch.reset')}
          </button>
        </Empty>
      ) : (
        <LinkList links={links} shown={shown} choice={choice} setChoice={setChoice} />
      )}
      {adding.is === 'failed' && (
        <div className="banner" role="alert">
          <Icon name="failed" />
          <span>{adding.why}</span>
          <IconButton
            name="close"
            label={text.t('word.dismiss')}
            onClick={() => setAdding({ is: 'no' })}
          />
        </div>
      )}
      <footer className="foot">
        <span role="status">
          <strong>{text.n('picker.chosen', count)}</strong>{' '}
          <span className="quiet">· {text.n('picker.shown', shown.length)}</span>
        </span>
        <span className="note keys">{text.t('picker.keys')}</span>
        <button
          type="button"
          className="button"
          onClick={() => setChoice(allOf(choice, shown))}
          disabled={shown.every((place) => choice.chosen.has(place))}
        >
          {text.t('picker.all')}
        </button>
        <button
          type="button"
          className="button"
          onClick={() => setChoice(without(choice))}
          disabled={count === 0}
        >
          {text.t('picker.clear')}
        </button>
        <button
          type="button"
          className="button primary"
          onClick={() => void add()}
          disabled={count === 0 || adding.is === 'running'}
        >
          {adding.is === 'running'
            ? text.t('picker.adding')
            : count === 0
              ? text.t('picker.nothing')
              : text.n('picker.add', count)}
        </button>
      </footer>
    </>
  );
}

interface FiltersProps {
  readonly links: readonly PickerLink[];
  readonly search: string;
  readonly setSearch: (search: string) => void;
  readonly type: LinkType | 'all';
  readonly setType: (type: LinkType | 'all') => void;
}

function Filters({ links, search, setSearch, type, setType }: FiltersProps) {
  const text = useText();
  const field = useRef<HTMLInputElement>(null);
  const counts = useMemo(() => countTypes(links), [links]);
  useEffect(() => field.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') {
      document.querySelector<HTMLElement>('[role="listbox"]')?.focus();
      event.preventDefault();
    }
    if (event.key === 'Escape') setSearch('');
  };
  return (
    <div className="filters">
      <div className="search" role="search">
        <Icon name="search" />
        <input
          ref={field}
          className="input"
          type="text"
          spellCheck={false}
          autoComplete="off"
          aria-label={text.t('picker.search')}
          placeholder={text.t('picker.search')}
          value={search}
          onChange={({ target }) => setSearch(target.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      <fieldset className="types">
        <legend className="hidden">{text.t('picker.types')}</legend>
        {([['all', links.length], ...counts] as const).map(([name, count]) => (
          <button
            key={name}
            type="button"
            className={`chip${name === type ? ' on' : ''}`}
            aria-pressed={name === type}
            onClick={() => setType(name)}
          >
            {text.t(typeKey(name))} <span className="figures">{text.number(count)}</span>
          </button>
        ))}
      </fieldset>
    </div>
  );
}

interface ResultProps {
  readonly added: number;
  readonly failed: number;
  readonly back: () => void;
}

function Result({ added, failed, back }: ResultProps) {
  const text = useText();
  return (
    <div role="status" className="result">
      <Empty icon={added > 0 ? 'done' : 'failed'} title={text.n('picker.added', added)}>
        {failed > 0 && <p className="bad">{text.n('picker.notAdded', failed)}</p>}
        <span className="line">
          <button type="button" className="button" onClick={back}>
            {text.t('picker.back')}
          </button>
          <button type="button" className="button primary" onClick={() => window.close()}>
            {text.t('picker.close')}
          </button>
        </span>
      </Empty>
    </div>
  );
}
