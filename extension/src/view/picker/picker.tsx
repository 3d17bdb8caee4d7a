/** The picker: shows the links of a page, from which the user adds some. */

import { Empty, Loading } from '@millrace/shared/ui/empty';
import { Logo } from '@millrace/shared/ui/icons';
import { useCallback, useEffect, useState } from 'react';
import type { FoundLinks } from '../../contract/messages.ts';
import { useBackground, useText } from '../common/context.tsx';
import { whyNot } from '../common/why-not.ts';
import { type Listed, listLinks } from './links.ts';
import { Selection } from './selection.tsx';

type Found =
  | { readonly is: 'loading' }
  | { readonly is: 'failed'; readonly why: string }
  | { readonly is: 'gone' }
  | { readonly is: 'here'; readonly links: FoundLinks; readonly listed: Listed };

/** Loads and shows links. @param found key under which the background keeps the links */
export function Picker({ found: key }: { found: string }) {
  const text = useText();
  const background = useBackground();
  const [found, setFound] = useState<Found>({ is: 'loading' });
  const load = useCallback(async () => {
    setFound({ is: 'loading' });
    try {
      const links = await background.ask({ type: 'picked-links', key });
      setFound(links === undefined ? { is: 'gone' } : here(links));
    } catch (error) {
      setFound({ is: 'failed', why: whyNot(text, error) });
    }
  }, [background, text, key]);
  useEffect(() => void load(), [load]);
  return (
    <div className="picker">
      <header className="head">
        <Logo size={24} />
        <h1 className="cut">
          {found.is === 'here' && found.links.title !== ''
            ? text.t('picker.of', { title: found.links.title })
            : text.t('picker.title')}
        </h1>
        {found.is === 'here' && <p className="quiet cut">{found.links.page}</p>}
      </header>
      <main>
        <Content found={found} load={() => void load()} />
      </main>
    </div>
  );
}

const here = (links: FoundLinks): Found => ({ is: 'here', links, listed: listLinks(links) });

function Content({ found, load }: { found: Found; load: () => void }) {
  const text = useText();
  if (found.is === 'loading') return <Loading label={text.t('picker.loading')} rows={8} />;
  if (found.is === 'failed') {
    return (
      <Empty icon="failed" title={text.t('picker.failed.title')}>
        <p>{found.why}</p>
        <button type="button" className="button" onClick={load}>
          {text.t('word.retry')}
        </button>
      </Empty>
    );
  }
  if (found.is === 'gone') {
    return (
      <Empty icon="link" title={text.t('picker.gone.title')}>
        <p>{text.t('picker.gone.text')}</p>
      </Empty>
    );
  }
  if (found.listed.links.length === 0) {
    return (
      <Empty icon="link" title={text.t('picker.none.title')}>
        <p>{text.t('picker.none.text')}</p>
      </Empty>
    );
  }
  return <Selection listed={found.listed} page={found.links.page} />;
}
