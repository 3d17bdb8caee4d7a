/** A field for a download folder; in the app, users can choose the folder in a dialog. */

import { Field } from '@millrace/shared/ui/fields';
import { isAbsolutePath } from '../../model/first-run.ts';
import { shell } from '../../model/shell.ts';
import { useAppState, useText } from './context.tsx';

interface FolderProps {
  /** Default: the label for one download's folder. */
  readonly label?: string;
  readonly value: string;
  /** Text in an empty field; default: it says that the category decides. */
  readonly placeholder?: string;
  readonly note?: string | undefined;
  readonly problem?: string | undefined;
  readonly onChange: (dir: string) => void;
}

export function FolderField({ label, value, placeholder, note, problem, onChange }: FolderProps) {
  const text = useText();
  const dir = useAppState(({ settings }) => settings?.dir ?? '');
  const chooseFolder = async () => {
    const chosen = await shell?.chooseFolder(value === '' ? dir : value);
    if (chosen) onChange(chosen);
  };
  return (
    <Field
      label={label ?? text.t('add.folder')}
      value={value}
      placeholder={placeholder ?? text.t('add.folder.auto', { dir })}
      note={note}
      problem={problem}
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

interface DownloadsFolderProps {
  readonly value: string;
  readonly note?: string | undefined;
  readonly onChange: (dir: string) => void;
}

/** The folder of all downloads, which must be an absolute path. */
export function DownloadsFolderField({ value, note, onChange }: DownloadsFolderProps) {
  const text = useText();
  return (
    <FolderField
      label={text.t('folders.dir')}
      value={value}
      placeholder=""
      note={note}
      problem={isAbsolutePath(value) ? undefined : text.t('folders.absolute')}
      onChange={onChange}
    />
  );
}
