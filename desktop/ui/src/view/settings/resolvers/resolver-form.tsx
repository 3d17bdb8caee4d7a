/** The form for a resolver: its program, the links that it is for, and its time. */

import {
  MAX_RESOLVER_SECONDS,
  RESOLVER_SECONDS,
  type Resolver,
} from '@millrace/shared/bridge/rpc/settings-api';
import { Field, Lines, Switch } from '@millrace/shared/ui/fields';
import { useState } from 'react';
import { useText } from '../../common/context.tsx';
import { SaveButton } from '../save-button.tsx';

interface FormProps {
  /** Undefined: a new one. */
  readonly given: Resolver | undefined;
  /** Stores it. @returns true once it is stored */
  readonly save: (resolver: Resolver) => Promise<boolean>;
  readonly onCancel: () => void;
}

export function ResolverForm({ given, save, onCancel }: FormProps) {
  const text = useText();
  const [name, setName] = useState(given?.name ?? '');
  const [words, setWords] = useState(given?.args.join('\n') ?? '');
  const [links, setLinks] = useState(given?.patterns.join('\n') ?? '');
  const [seconds, setSeconds] = useState(String(given?.seconds ?? RESOLVER_SECONDS));
  const [isYtDlp, setYtDlp] = useState(given?.prints === 'yt-dlp');
  const args = linesOf(words);
  const time = Number(seconds);
  const isTime = Number.isInteger(time) && time >= 1 && time <= MAX_RESOLVER_SECONDS;
  const resolver: Resolver = {
    name: name.trim(),
    args,
    patterns: linesOf(links).map((line) => line.trim()),
    seconds: time,
    prints: isYtDlp ? 'yt-dlp' : 'answer',
    ...(given?.off ? { off: true } : {}),
  };
  return (
    <section className="learned">
      <h4>{given === undefined ? text.t('resolvers.new') : given.name}</h4>
      <Field
        label={text.t('resolvers.name')}
        note={text.t('resolvers.name.help')}
        value={name}
        maxLength={32}
        onChange={(event) => setName(event.target.value)}
      />
      <Lines
        label={text.t('resolvers.words')}
        note={text.t('resolvers.words.help')}
        className="mono short"
        rows={2}
        placeholder={'/usr/bin/python3\n/home/me/shop.py'}
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <Lines
        label={text.t('resolvers.links')}
        note={text.t('resolvers.links.help')}
        className="mono short"
        rows={2}
        placeholder={'example.org\nhttps://*.example.net/watch/*'}
        value={links}
        onChange={(event) => setLinks(event.target.value)}
      />
      <Field
        label={text.t('resolvers.seconds')}
        note={text.t('resolvers.seconds.help')}
        inputMode="numeric"
        value={seconds}
        problem={
          isTime ? undefined : text.t('resolvers.seconds.bad', { most: MAX_RESOLVER_SECONDS })
        }
        onChange={(event) => setSeconds(event.target.value)}
      />
      <Switch
        label={text.t('resolvers.isYtDlp')}
        note={text.t('resolvers.isYtDlp.help')}
        checked={isYtDlp}
        onChange={setYtDlp}
      />
      <div className="line start">
        <SaveButton
          disabled={name.trim() === '' || args.length === 0 || !isTime}
          save={() => save(resolver)}
        />
        <button type="button" className="button" onClick={onCancel}>
          {text.t('word.cancel')}
        </button>
      </div>
    </section>
  );
}

function linesOf(typed: string): string[] {
  return typed.split('\n').filter((line) => line.trim() !== '');
}
