/** The files that the user has sent: links, ends, places, and what can be done with each. */

import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { allowsShown, type ShareAction } from '@millrace/shared/share/share-state';
import { Empty, Loading } from '@millrace/shared/ui/empty';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { Bar } from '@millrace/shared/ui/row-signs';
import { sentPart } from '../../model/shares/shares.ts';
import { bytes, dateTime, percent } from '../../text/format.ts';
import { useActions, useAppState, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';
import { SideButton } from '../list/tool-bar.tsx';
import { shareName, stateOf } from './share-words.ts';

/** The bar above the list. */
export function SharedBar() {
  const text = useText();
  return (
    <header className="tool-bar">
      <SideButton />
      <h2 className="bar-title">{text.t('side.shared')}</h2>
    </header>
  );
}

export function SharedList() {
  const text = useText();
  const shares = useAppState((state) => state.shares);
  return (
    <section className="shares" aria-label={text.t('side.shared')}>
      {shares === undefined && <Loading label={text.t('loading.list')} rows={4} end />}
      {shares?.length === 0 && <NothingSent />}
      {shares !== undefined && shares.length > 0 && (
        <ul>
          {shares.map((share) => (
            <Share key={share.id} share={share} />
          ))}
        </ul>
      )}
    </section>
  );
}

function NothingSent() {
  const text = useText();
  const actions = useActions();
  const hasDepot = useAppState(({ settings }) => (settings?.depots.length ?? 0) > 0);
  return (
    <Empty icon="up" title={text.t('shared.empty.title')}>
      <p>{text.t('shared.empty.text')}</p>
      {hasDepot ? (
        <button
          type="button"
          className="button primary"
          onClick={() => actions.open({ kind: 'send', files: [] })}
        >
          <Icon name="up" />
          {text.t('bar.send')}
        </button>
      ) : (
        <>
          <p>{text.t('send.noDepot')}</p>
          <button
            type="button"
            className="button primary"
            onClick={() => actions.openSettings('depots')}
          >
            <Icon name="settings" />
            {text.t('send.toSettings')}
          </button>
        </>
      )}
    </Empty>
  );
}

function Share({ share }: { share: ShareView }) {
  const text = useText();
  const now = useNow(share.state === 'revoking' ? 1000 : 30_000);
  const { state, places, expires, trouble, copies } = share;
  const name = shareName(text, share);
  const { word, tone } = stateOf(text, share, now);
  const isMoving = state === 'sending' || state === 'waiting' || state === 'paused';
  const isThere = state === 'shared' && expires !== undefined;
  const hosts = places.map(({ depot }) => new URL(depot).host).join(', ');
  return (
    <li className={`share ${tone}`} data-state={state}>
      <div className="share-name">
        <strong className="cut" title={name}>
          {name}
        </strong>
        <span className="meta">
          {word}
          {trouble !== undefined && <span className="bad"> · {text.error(trouble).title}</span>}
        </span>
        {trouble !== undefined && <span className="note">{text.error(trouble).help}</span>}
      </div>
      <span className="share-size figures">
        {share.invitation === true
          ? text.t('share.upTo', { bytes: bytes(text, share.bytes) })
          : bytes(text, share.bytes)}
      </span>
      <div className="share-where">
        {isMoving && (
          <span className="row-progress">
            <span className="percent figures">{percent(text, sentPart(share))}</span>
            <Bar share={sentPart(share)} tone={tone} isRunning={state === 'sending'} />
          </span>
        )}
        {isMoving && copies !== undefined && copies.stored > 0 && (
          <span className="note">
            {text.t('share.copies', {
              n: text.number(copies.stored),
              of: text.number(copies.wanted),
            })}
          </span>
        )}
        {isThere && (
          <>
            <span title={dateTime(text, expires)}>
              {text.t('share.until', { when: dateTime(text, expires) })}
            </span>
            <span className="note cut" title={hosts}>
              {text.n('share.places', places.length)}
              {share.encrypted && ` · ${text.t('share.encrypted')}`}
              {!share.wholeFile && ` · ${text.t('share.exnode')}`}
            </span>
          </>
        )}
      </div>
      <ShareTools share={share} />
    </li>
  );
}

function ShareTools({ share }: { share: ShareView }) {
  const text = useText();
  const actions = useActions();
  const { id, state, link, invitation, guestFile } = share;
  const name = shareName(text, share);
  const { shares } = actions;
  const copyWord = text.t(invitation === true ? 'share.copyGuest' : 'share.copy');
  const may = (action: ShareAction) => allowsShown(share, action);
  return (
    <div className="share-tools">
      {state === 'shared' && link !== undefined && (
        <button
          type="button"
          className="button small"
          aria-label={`${copyWord}: ${name}`}
          onClick={() => void shares.copyLink(share)}
        >
          <Icon name="copy" />
          {copyWord}
        </button>
      )}
      {guestFile !== undefined && state === 'shared' && (
        <button
          type="button"
          className="button small"
          aria-label={`${text.t('share.copyFile')}: ${name}`}
          onClick={() => void shares.copy(guestFile)}
        >
          <Icon name="copy" />
          {text.t('share.copyFile')}
        </button>
      )}
      {may('undo') && (
        <button
          type="button"
          className="button small"
          aria-label={`${text.t('toast.undo')}: ${name}`}
          onClick={() => void shares.undo(id)}
        >
          {text.t('toast.undo')}
        </button>
      )}
      {may('pause') && (
        <IconButton
          name="paused"
          label={text.t('action.pause')}
          of={name}
          onClick={() => void shares.pause(share)}
        />
      )}
      {may('resume') && (
        <IconButton
          name={state === 'failed' ? 'retry' : 'resume'}
          label={text.t(state === 'failed' ? 'action.retry' : 'action.resume')}
          of={name}
          onClick={() => void shares.resume(share)}
        />
      )}
      {(may('check') || may('stop')) && (
        <IconButton
          name="edge"
          label={text.t('share.health')}
          of={name}
          onClick={() => actions.open({ kind: 'health', id })}
        />
      )}
      {may('extend') && (
        <IconButton
          name="schedule"
          label={text.t('share.extend')}
          of={name}
          onClick={() => actions.open({ kind: 'extend', id })}
        />
      )}
      {may('revoke') && (
        <IconButton
          name={state === 'revoke-failed' ? 'retry' : 'remove'}
          label={text.t(state === 'revoke-failed' ? 'share.revokeNow' : 'share.revoke')}
          of={name}
          onClick={() => void shares.revoke(share, name)}
        />
      )}
      {may('forget') && (
        <IconButton
          name="clear"
          label={text.t('share.forget')}
          of={name}
          onClick={() => void shares.forget(share)}
        />
      )}
    </div>
  );
}
