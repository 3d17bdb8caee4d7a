/** Shows the downloads that were found; each can be left out. */

import type {
  Duplicate,
  FoundLink,
  LinkOptions,
  MetalinkFile,
  ProbedLink,
} from '@millrace/shared/bridge/rpc/adding-api';
import { Icon } from '@millrace/shared/ui/icons';
import { type ReactNode, useState } from 'react';
import type { GivenMetalink } from '../../model/app-state.ts';
import { bytes, hostOf } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';
import { useText } from '../common/context.tsx';

interface LinksProps {
  readonly links: readonly FoundLink[];
  readonly left: ReadonlySet<string>;
  readonly toggle: (url: string) => void;
  /** Answers of servers, by URL. */
  readonly probed: ReadonlyMap<string, ProbedLink>;
}

/** Rows shown at first: nobody would read thousands. */
const SHOWN = 200;

export function FoundLinks({ links, left, toggle, probed }: LinksProps) {
  const text = useText();
  const [shown, setShown] = useState(SHOWN);
  const more = links.length - shown;
  return (
    <>
      {links.slice(0, shown).map(({ url, name, exnode, duplicate, options }) => (
        <Found
          key={url}
          name={exnode ? text.t('add.exnode.link') : (resolvedName(probed.get(url)) ?? name)}
          title={exnode ? url.replace(/#.*/s, '') : url}
          where={[
            ...probeWords(text, probed.get(url)),
            hostOf(url),
            ...optionWords(text, options),
          ].join(' · ')}
          taken={!left.has(url)}
          toggle={() => toggle(url)}
          duplicate={duplicate}
          here={probed.get(url)?.here}
        />
      ))}
      {more > 0 && (
        <li className="found-more">
          <button type="button" className="text-button" onClick={() => setShown(shown + 5 * SHOWN)}>
            {text.n('add.foundMore', more)}
          </button>
        </li>
      )}
    </>
  );
}

/** Returns the name of the file that a resolver has found: the link has only that of a page. */
function resolvedName(probed: ProbedLink | undefined): string | undefined {
  return probed?.resolver === undefined ? undefined : probed.name;
}

/** Says what a server told of a link, and which resolver has found it. */
function probeWords(text: Text, probed: ProbedLink | undefined): string[] {
  if (probed === undefined) return [];
  const { length, type, resumable, problem, resolver, said } = probed;
  const found = [
    ...(resolver === undefined ? [] : [text.t('add.resolved', { name: resolver })]),
    ...(said === undefined ? [] : [said]),
  ];
  if (problem !== undefined) {
    return [text.error({ code: problem, message: problem }).title, ...found];
  }
  return [
    ...found,
    length === undefined ? text.t('add.probe.noSize') : bytes(text, length),
    ...(type === undefined ? [] : [type]),
    text.t(resumable ? 'add.probe.resumable' : 'add.probe.once'),
  ];
}

/** Says what a command of curl brings along, without its values: they may be secret. */
function optionWords(text: Text, options: LinkOptions | undefined): string[] {
  if (options === undefined) return [];
  const fields = Object.keys(options.headers ?? {}).length;
  return [
    ...(fields > 0 ? [text.n('add.curl.fields', fields)] : []),
    ...(options.login === undefined ? [] : [text.t('add.curl.login')]),
    ...(options.proxy === undefined ? [] : [text.t('add.curl.proxy', { proxy: options.proxy })]),
  ];
}

interface FilesProps {
  readonly from: GivenMetalink;
  readonly isTaken: (index: number) => boolean;
  readonly toggle: (index: number) => void;
}

/** The files of a description, which may have thousands. */
export function FoundFiles({ from, isTaken, toggle }: FilesProps) {
  const text = useText();
  const [shown, setShown] = useState(SHOWN);
  const more = from.files.length - shown;
  return (
    <>
      {from.files.slice(0, shown).map((file) => (
        <FoundFile
          key={file.index}
          file={file}
          from={from}
          taken={isTaken(file.index)}
          toggle={() => toggle(file.index)}
        />
      ))}
      {more > 0 && (
        <li className="found-more">
          <button type="button" className="text-button" onClick={() => setShown(shown + 5 * SHOWN)}>
            {text.n('add.foundMore', more)}
          </button>
        </li>
      )}
    </>
  );
}

interface FileProps {
  readonly file: MetalinkFile;
  readonly from: GivenMetalink;
  readonly taken: boolean;
  readonly toggle: () => void;
}

function FoundFile({ file, from, taken, toggle }: FileProps) {
  const text = useText();
  const facts = [text.n('add.metalink.mirrors', file.urls.length)];
  if (file.size !== undefined) facts.unshift(bytes(text, file.size));
  const { exnode } = from;
  if (exnode?.isEncrypted) facts.push(text.t('share.encrypted'));
  if (file.digests.length > 0 || file.pieces > 0) facts.push(text.t('add.metalink.digest'));
  return (
    <Found
      name={file.name}
      title={text.t(titleOf(from), { name: from.name })}
      where={facts.join(' · ')}
      taken={taken && file.usable}
      toggle={toggle}
      disabled={!file.usable}
      duplicate={file.duplicate}
    />
  );
}

function titleOf({ exnode, torrent }: GivenMetalink) {
  if (torrent === true) return 'add.torrent';
  return exnode ? 'add.exnode' : 'add.metalink';
}

interface FoundProps {
  readonly name: string;
  readonly title: string;
  readonly where: ReactNode;
  readonly taken: boolean;
  readonly disabled?: boolean;
  readonly toggle: () => void;
  readonly duplicate: Duplicate | undefined;
  /** Where a file of this name and length is already. */
  readonly here?: ProbedLink['here'];
}

function Found({ name, title, where, taken, disabled, toggle, duplicate, here }: FoundProps) {
  const text = useText();
  const alike = here === undefined ? undefined : text.t(`add.here.${here}`);
  const same = duplicate === undefined ? alike : duplicateWords(text, duplicate);
  return (
    <li>
      <label className={`found-item${taken ? '' : ' left'}`} title={title}>
        <input
          type="checkbox"
          checked={taken}
          disabled={disabled}
          onChange={toggle}
          aria-label={text.t('add.use', { name })}
        />
        <span className="cut found-name">{name}</span>
        {same === undefined ? (
          <span className="note cut">{where}</span>
        ) : (
          <span className="found-duplicate">
            <Icon name="copy" size={13} />
            {same}
          </span>
        )}
      </label>
    </li>
  );
}

function duplicateWords(text: Text, { status }: Duplicate): string {
  if (status === 'active') return text.t('add.duplicate.active');
  if (status === 'complete') return text.t('add.duplicate.complete');
  if (status === 'error' || status === 'removed') return text.t('add.duplicate.other');
  return text.t('add.duplicate.queued');
}
