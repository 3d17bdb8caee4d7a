/** Opens lists of links and describing files from this computer. */

import { Icon } from '@millrace/shared/ui/icons';
import { type ChangeEvent, useRef } from 'react';
import { GIVEN_TYPES, type GivenFiles, readGivenFiles } from '../../model/adding/given-files.ts';
import { useApp, useText } from '../common/context.tsx';

/** A button that has the user choose files. @param onRead called with what is in them */
export function OpenFiles({ onRead }: { onRead: (read: GivenFiles) => void }) {
  const text = useText();
  const app = useApp();
  const field = useRef<HTMLInputElement>(null);
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])];
    // The same file can be chosen again.
    event.target.value = '';
    onRead(await readGivenFiles(app, files));
  };
  return (
    <>
      <input
        ref={field}
        type="file"
        hidden
        multiple
        accept={GIVEN_TYPES}
        onChange={(event) => void read(event)}
      />
      <button
        type="button"
        className="text-button"
        title={text.t('add.files.hint')}
        onClick={() => field.current?.click()}
      >
        <span className="line">
          <Icon name="folder" />
          {text.t('add.files.open')}
        </span>
      </button>
    </>
  );
}
