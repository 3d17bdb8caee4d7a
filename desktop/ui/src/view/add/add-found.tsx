/** Shows the downloads that were found; each can be left out. */

import type {
  Duplicate,
  LinkOptions,
  MetalinkFile,
  ProbedLink,
} from '@millrace/shared/bridge/rpc/adding-api';
import { Icon } from '@millrace/shared/ui/icons';
import type { ReactNode } from 'react';
import type { ShownLink } from '../../model/adding/found-filter.ts';
import type { GivenMetalink } from '../../model/app-state.ts';
import { bytes, hostOf } from '../../text/format.ts';
import type { Text } from '../../text/text.ts';
import { typeIcon } from '../common/category-name.ts';
import { useAppState, useText } from '../common/context.tsx';

interface LinkProps {
  readonly link: ShownLink;
  readonly taken: boolean;
  readonly toggle: () => void;
  readonly tabIndex: 0 | -1;
  /** Host of the page that the link is of; undefined for links of a text. */
  readonly pageHost: string | undefined;
  /** Answer of the server. */
  readonly probed: ProbedLink | undefined;
}

export function FoundLink({ link, taken, toggle, tabIndex, pageHost, probed }: LinkProps) {
  const text = useText();
  const { url, name, exnode, duplicate, options, size, folder = '', category } = link;
  const facts = [
    ...(size === undefined || probed !== undefined ? [] : [bytes(text, size)]),
    ...probeWords(text, probed),
    ...[folder === '' && hostOf(url) !== pageHost ? hostOf(url) : folder].filter(Boolean),
    ...optionWords(text, options),
  ];
  return (
    <Found
      name={exnode ? text.t('add.exnode.link') : (probed?.name ?? name)}
      category={category}
      title={exnode ? url.replace(/#.*/s, '') : url}
      where={facts.join(' · ')}
      taken={taken}
      toggle={toggle}
      tabIndex={tabIndex}
      duplicate={duplicate}
      here={probed?.here}
      hasProblem={probed?.problem !== undefined}
    />
  );
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

interface FileProps {
  readonly file: MetalinkFile;
  readonly from: GivenMetalink;
  readonly taken: boolean;
  readonly toggle: () => void;
  readonly tabIndex: 0 | -1;
}

export function FoundFile({ file, from, taken, toggle, tabIndex }: FileProps) {
  const text = useText();
  const facts = [text.n('add.metalink.mirrors', file.urls.length)];
  if (file.size !== undefined) facts.unshift(bytes(text, file.size));
  const { exnode } = from;
  if (exnode?.isEncrypted) facts.push(text.t('share.encrypted'));
  if (file.digests.length > 0 || file.pieces > 0) facts.push(text.t('add.metalink.digest'));
  return (
    <Found
      name={file.name}
      category={file.category}
      tabIndex={tabIndex}
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
  readonly category: string | undefined;
  readonly title: string;
  readonly where: ReactNode;
  readonly taken: boolean;
  readonly disabled?: boolean;
  readonly toggle: () => void;
  readonly tabIndex: 0 | -1;
  readonly duplicate: Duplicate | undefined;
  /** Where a file of this name and length is already. */
  readonly here?: ProbedLink['here'];
  /** True if `where` says why the server does not give the file. */
  readonly hasProblem?: boolean;
}

function Found(props: FoundProps) {
  const { name, category, title, where, taken, disabled, toggle, tabIndex, duplicate, here } =
    props;
  const { hasProblem } = props;
  const text = useText();
  const categories = useAppState(({ settings }) => settings?.categories);
  const alike = here === undefined ? undefined : text.t(`add.here.${here}`);
  const same = duplicate === undefined ? alike : duplicateWords(text, duplicate);
  return (
    <label className={`found-item${taken ? '' : ' left'}`} title={title}>
      <input
        type="checkbox"
        checked={taken}
        disabled={disabled}
        onChange={toggle}
        tabIndex={tabIndex}
        aria-label={text.t('add.use', { name })}
      />
      <Icon name={typeIcon({ name, category }, categories)} size={15} />
      <span className="cut found-name">{name}</span>
      {same === undefined && !hasProblem ? (
        <span className="note cut">{where}</span>
      ) : (
        <span className={`found-mark${same === undefined ? ' bad' : ''}`}>
          <Icon name={same === undefined ? 'failed' : 'copy'} size={13} />
          <span className="cut">{same ?? where}</span>
        </span>
      )}
    </label>
  );
}

function duplicateWords(text: Text, { status }: Duplicate): string {
  if (status === 'active') return text.t('add.duplicate.active');
  if (status === 'complete') return text.t('add.duplicate.complete');
  if (status === 'error' || status === 'removed') return text.t('add.duplicate.other');
  return text.t('add.duplicate.queued');
}
