import type { CategoryView } from '@millrace/shared/bridge/rpc/settings-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { useState } from 'react';
import { useText } from '../common/context.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

interface Draft {
  readonly key: number;
  readonly name: string;
  readonly folder: string;
  readonly extensions: string;
}

let lastKey = 0;
const toDraft = ({ name, folder, extensions }: CategoryView): Draft => ({
  key: ++lastKey,
  name,
  folder,
  extensions: extensions.join(' '),
});
const fromDraft = ({ name, folder, extensions }: Draft): CategoryView => ({
  name: name.trim(),
  folder: folder.trim(),
  extensions: extensions
    .toLowerCase()
    .split(/[\s,;]+/)
    .map((one) => one.replace(/^\./, ''))
    .filter((one) => one !== ''),
});

export function CategoriesPage({ settings, save }: PageProps) {
  const text = useText();
  const [drafts, setDrafts] = useState(() => settings.categories.map(toDraft));
  const categories = drafts.map(fromDraft);
  const names = new Set(categories.map(({ name }) => name));
  const bad =
    names.size < categories.length ||
    categories.some(({ name, extensions }) => name === '' || extensions.length === 0);
  const same = JSON.stringify(categories) === JSON.stringify(settings.categories);
  const change = (key: number, part: Partial<Draft>) =>
    setDrafts(drafts.map((draft) => (draft.key === key ? { ...draft, ...part } : draft)));
  const cell = (draft: Draft, name: 'name' | 'folder' | 'extensions', placeholder = '') => (
    <input
      className="input"
      aria-label={`${text.t(`categories.${name}`)}: ${draft.name}`}
      value={draft[name]}
      placeholder={placeholder}
      spellCheck={false}
      onChange={(event) => change(draft.key, { [name]: event.target.value })}
    />
  );
  return (
    <>
      <p className="quiet">{text.t('categories.text')}</p>
      <div className="category-table">
        <div className="category-row head" aria-hidden="true">
          <span>{text.t('categories.name')}</span>
          <span>{text.t('categories.folder')}</span>
          <span>{text.t('categories.extensions')}</span>
          <span />
        </div>
        {drafts.map((draft) => (
          <div key={draft.key} className="category-row">
            {cell(draft, 'name')}
            {cell(draft, 'folder', text.t('categories.folder.placeholder'))}
            {cell(draft, 'extensions')}
            <IconButton
              name="close"
              size={14}
              label={text.t('categories.remove', { name: draft.name })}
              isLarge
              onClick={() => setDrafts(drafts.filter(({ key }) => key !== draft.key))}
            />
          </div>
        ))}
      </div>
      <button
        type="button"
        className="button small start"
        onClick={() =>
          setDrafts([
            ...drafts,
            toDraft({ name: text.t('categories.new'), folder: '', extensions: [] }),
          ])
        }
      >
        <Icon name="add" size={14} />
        {text.t('categories.add')}
      </button>
      {bad && <p className="note bad">{text.t('categories.bad')}</p>}
      <SaveButton disabled={bad || same} save={() => save({ categories })} />
    </>
  );
}
