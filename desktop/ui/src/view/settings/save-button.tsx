/** Saves a page of settings, and says that it is saved. */

import { useState } from 'react';
import { useApp, useText } from '../common/context.tsx';

interface SaveProps {
  readonly disabled: boolean;
  readonly save: () => Promise<boolean>;
}

export function SaveButton({ disabled, save }: SaveProps) {
  const text = useText();
  const app = useApp();
  const [working, setWorking] = useState(false);
  const run = async () => {
    setWorking(true);
    const saved = await save();
    setWorking(false);
    if (saved) app.toast(app.text.t('toast.saved'));
  };
  return (
    <div className="save">
      <button
        type="button"
        className="button primary"
        disabled={disabled || working}
        onClick={() => void run()}
      >
        {text.t('word.save')}
      </button>
    </div>
  );
}
