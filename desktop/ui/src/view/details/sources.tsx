/** The sources of a download, with the state and the speed of each. */

import type { SourceView } from '@millrace/shared/bridge/rpc/detail-api';
import { sourceColour } from '../../model/source-colours.ts';
import { sourceLabel } from '../../model/source-label.ts';
import { bytes, percent, rate } from '../../text/format.ts';
import { useAppState, useText } from '../common/context.tsx';
import { useDark } from '../common/theme.ts';

export function Sources({ sources }: { sources: readonly SourceView[] }) {
  const text = useText();
  if (sources.length === 0) return <p className="note">{text.t('details.sources.none')}</p>;
  return (
    <table className="sources">
      <thead>
        <tr>
          <th scope="col">{text.t('source.name')}</th>
          <th scope="col">{text.t('source.rtt')}</th>
          <th scope="col">{text.t('source.share')}</th>
          <th scope="col">{text.t('source.speed')}</th>
        </tr>
      </thead>
      {sources.map((source, i) => (
        <Source key={`${source.kind} ${source.url} ${source.label}`} source={source} index={i} />
      ))}
    </table>
  );
}

function Source({ source, index }: { source: SourceView; index: number }) {
  const text = useText();
  const dark = useDark();
  const { kind, state, rttMs, share, bytesPerSecond, resets, receivedBytes } = source;
  const edges = useAppState(({ settings }) => settings?.edges);
  const label = sourceLabel(source, edges ?? []);
  const figures = [bytes(text, receivedBytes)];
  if (state !== 'used') figures.unshift(text.t(`source.state.${state}`));
  else if (source.connections > 0) figures.unshift(text.n('state.connections', source.connections));
  const reason = state === 'used' ? undefined : text.reason(source.reasonCode, source.reason);
  const notes = [resets > 0 ? text.n('source.resets', resets) : undefined, reason].filter(Boolean);
  return (
    <tbody className={`source ${state}`}>
      <tr>
        <th scope="rowgroup" colSpan={4}>
          <i className="dot" style={{ background: sourceColour(index, dark) }} />
          <span className="source-label" title={source.url}>
            {label}
          </span>
          <span className="note">{text.t(`source.kind.${kind}`)}</span>
        </th>
      </tr>
      <tr className="source-figures">
        <td className="note figures">
          {figures.map((figure) => (
            <span key={figure}>{figure}</span>
          ))}
        </td>
        <td className="figures">
          {rttMs === undefined ? '–' : `${text.number(rttMs, rttMs < 10 ? 1 : 0)} ms`}
        </td>
        <td className="figures">
          {percent(text, share)}
          <span className="share-bar">
            <span
              style={{ transform: `scaleX(${share})`, background: sourceColour(index, dark) }}
            />
          </span>
        </td>
        <td className="figures">{bytesPerSecond > 0 ? rate(text, bytesPerSecond) : '–'}</td>
      </tr>
      {notes.length > 0 && (
        <tr className="source-notes">
          <td colSpan={4} className={`note${state === 'quarantined' ? ' bad' : ''}`}>
            {notes.join(' · ')}
          </td>
        </tr>
      )}
    </tbody>
  );
}
