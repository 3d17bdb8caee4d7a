/** The file of a download: its place, its links, its checksums. */

import type { DownloadView, Vouch } from '@millrace/shared/bridge/rpc/daemon-api';
import type { DigestView, DownloadDetail } from '@millrace/shared/bridge/rpc/detail-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { hasFile } from '../../model/failure.ts';
import { copyText } from '../../model/shell.ts';
import { algorithmName, bytes, dateTime } from '../../text/format.ts';
import { CategorySelect } from '../common/category-select.tsx';
import { useActions, useApp, useText } from '../common/context.tsx';
import { AfterFacts } from './after-facts.tsx';
import { Fact } from './fact.tsx';

interface FileProps {
  readonly row: DownloadView;
  readonly detail: DownloadDetail | undefined;
}

export function FileFacts({ row, detail }: FileProps) {
  const text = useText();
  const actions = useActions();
  const digests = detail?.digests ?? [];
  const isGone = row.status === 'complete' && !hasFile(row);
  return (
    <>
      <dl className="facts wide">
        <Fact name={text.t('details.path')}>{row.path ?? row.name}</Fact>
        {isGone && (
          <Fact name={text.t('details.saved')}>
            {text.t(row.notKept === true ? 'details.notKept' : 'details.placeUnknown')}
          </Fact>
        )}
        {row.path === undefined && !isGone && <Fact name={text.t('details.saved')}>{row.dir}</Fact>}
        {row.length !== undefined && (
          <Fact name={text.t('details.size')}>
            {`${bytes(text, row.length)} (${text.number(row.length)} B)`}
          </Fact>
        )}
        <Fact name={text.t('details.category')}>
          <CategorySelect
            bare
            value={row.category ?? null}
            onChange={(category) => void actions.setCategory([row.gid], category)}
          />
        </Fact>
        <Fact name={text.n('details.links', row.urls.length)}>
          {row.urls.map((url) => (
            <Copyable key={url} value={url} />
          ))}
        </Fact>
        {detail?.resolved !== undefined && <ResolvedFacts resolved={detail.resolved} />}
        <Fact name={text.t('details.added')}>{dateTime(text, row.createdAt)}</Fact>
        {row.startedAt !== undefined && (
          <Fact name={text.t('details.started')}>{dateTime(text, row.startedAt)}</Fact>
        )}
        {row.finishedAt !== undefined && (
          <Fact name={text.t('details.finished')}>{dateTime(text, row.finishedAt)}</Fact>
        )}
        {row.attempts > 1 && (
          <Fact name={text.t('details.attempts')}>{text.number(row.attempts)}</Fact>
        )}
      </dl>
      {row.after !== undefined && <AfterFacts steps={row.after} />}
      <section>
        <h3>{text.t('details.digests')}</h3>
        {row.vouch !== undefined && <Signed vouch={row.vouch} />}
        {digests.length === 0 ? (
          row.vouch === undefined && <p className="note">{text.t('details.digests.none')}</p>
        ) : (
          <ul className="digests">
            {digests.map((digest) => (
              <Digest key={digest.algorithm + digest.hex + digest.by} digest={digest} />
            ))}
          </ul>
        )}
      </section>
    </>
  );
}

/** Says which resolver has found the links, and of what. */
function ResolvedFacts({
  resolved: { by, url, expires },
}: {
  resolved: NonNullable<DownloadDetail['resolved']>;
}) {
  const text = useText();
  return (
    <>
      <Fact name={text.t('details.resolver')}>
        {expires === undefined
          ? by
          : text.t('details.resolver.until', { name: by, time: dateTime(text, expires) })}
      </Fact>
      <Fact name={text.t('details.page')}>
        <Copyable value={url} />
      </Fact>
    </>
  );
}

function Signed({ vouch: { by, fingerprint, byList } }: { vouch: Vouch }) {
  const text = useText();
  return (
    <div className="signed">
      <span className="digest-state verified">
        <Icon name="signed" size={14} />
        <strong>{text.t('details.signed', { by })}</strong>
        <span className="note">
          {text.t(byList ? 'details.signed.list' : 'details.signed.file')}
        </span>
      </span>
      <Copyable value={fingerprint} />
    </div>
  );
}

const DIGEST_STATES = {
  expected: 'details.digests.expected',
  verified: 'details.digests.checked',
  mismatch: 'details.digests.failed',
} as const;

function Digest({ digest: { algorithm, hex, state } }: { digest: DigestView }) {
  const text = useText();
  return (
    <li>
      <span className={`digest-state ${state}`}>
        <Icon
          name={state === 'mismatch' ? 'failed' : state === 'verified' ? 'done' : 'queued'}
          size={14}
        />
        <strong>{algorithmName(algorithm)}</strong>
        <span className="note">{text.t(DIGEST_STATES[state])}</span>
      </span>
      <Copyable value={hex} />
    </li>
  );
}

function Copyable({ value }: { value: string }) {
  const app = useApp();
  const text = useText();
  const copy = async () => {
    if (await copyText(value)) app.toast(text.t('word.copied'));
  };
  return (
    <span className="copyable">
      <span className="mono">{value}</span>
      <IconButton name="copy" size={14} label={text.t('word.copy')} onClick={() => void copy()} />
    </span>
  );
}
