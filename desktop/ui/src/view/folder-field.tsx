/** Where a download is to go; in the app the folder can be chosen. */

import { shell } from '../model/shell.ts';
import { useAppState, useText } from './context.tsx';
import { Field } from './fields.tsx';

interface FolderProps {
  readonly value: string;
  /** What is said in an empty field; default: that the category decides. */
  readonly placeholder?: string;
  readonly onChange: (dir: string) => void;
}

export function FolderField({ value, placeholder, onChange }: FolderProps) {
  const text = useText();
  const dir = useAppState(({ settings }) => settings?.dir ?? '');
  const chooseFolder = async () => {
    const chosen = await shell?.chooseFolder(value === '' ? dir : value);
    if (chosen) onChange(chosen);
  };
  return (
    <Field
      label={text.t('add.folder')}
      value={value}
      placeholder={placeholder ?? text.t('add.folder.auto', { dir })}
      onChange={(event) => onChange(event.target.value)}
      after={
        shell && (
          <button type="button" className="button" onClick={() => void chooseFolder()}>
            {text.t('add.folder.choose')}
          </button>
        )
      }
    />
  );
}
