import { Select, Switch } from '@millrace/shared/ui/fields';
import { useState } from 'react';
import { exportName, FORMATS, type Format, saveText } from '../../model/exchange.ts';
import { useApp, useText } from '../common/context.tsx';
import { Import } from './import-section.tsx';

/** The page that exports and imports the list of downloads. */
export function ExchangePage() {
  const text = useText();
  return (
    <>
      <p className="quiet">{text.t('exchange.text')}</p>
      <Export />
      <Import />
    </>
  );
}

const PARTS = ['all', 'queue', 'history'] as const;

function Export() {
  const text = useText();
  const app = useApp();
  const [format, setFormat] = useState<Format>('json');
  const [which, setWhich] = useState<(typeof PARTS)[number]>('all');
  const [secrets, setSecrets] = useState(false);
  const [working, setWorking] = useState(false);
  const save = async () => {
    setWorking(true);
    const asked = { format, which, secrets: secrets && format !== 'urls' };
    const list = await app.attempt(app.call('millrace.export', asked));
    setWorking(false);
    if (list !== undefined) saveText(exportName(format, Date.now()), list.text);
  };
  const formats = Object.keys(FORMATS) as Format[];
  return (
    <section className="exchange">
      <h4>{text.t('exchange.export')}</h4>
      <div className="two">
        <Select
          label={text.t('exchange.format')}
          note={text.t('exchange.format.help')}
          options={formats.map((value) => ({ value, label: text.t(`exchange.format.${value}`) }))}
          value={format}
          onChange={setFormat}
        />
        <Select
          label={text.t('exchange.which')}
          note={text.t('exchange.which.help')}
          options={PARTS.map((value) => ({ value, label: text.t(`exchange.which.${value}`) }))}
          value={which}
          onChange={setWhich}
        />
      </div>
      <Switch
        label={text.t('exchange.secrets')}
        note={text.t('exchange.secrets.help')}
        checked={secrets && format !== 'urls'}
        disabled={format === 'urls'}
        onChange={setSecrets}
      />
      <button
        type="button"
        className="button small start"
        disabled={working}
        onClick={() => void save()}
      >
        {text.t('exchange.export.submit')}
      </button>
    </section>
  );
}
