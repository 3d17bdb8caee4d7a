import { DENSITIES, THEMES } from '@millrace/shared/bridge/rpc/settings-api';
import { Choice, Switch } from '@millrace/shared/ui/fields';
import { LANGUAGE_FACTS, LANGUAGES } from '../../text/text.ts';
import { useText } from '../common/context.tsx';
import { hasSounds, soundsChange } from '../common/sounds.ts';
import type { PageProps } from './page-props.ts';

export function AppearancePage({ settings, save }: PageProps) {
  const text = useText();
  const { theme, density } = settings.appearance;
  return (
    <>
      <p className="quiet">{text.t('appearance.text')}</p>
      <Choice
        label={text.t('appearance.theme')}
        note={text.t('appearance.theme.help')}
        options={THEMES.map((value) => ({ value, label: text.t(`appearance.theme.${value}`) }))}
        value={theme}
        onChange={(value) => void save({ appearance: { theme: value } })}
      />
      <Choice
        label={text.t('appearance.density')}
        note={text.t('appearance.density.help')}
        options={DENSITIES.map((value) => ({
          value,
          label: text.t(`appearance.density.${value}`),
        }))}
        value={density}
        onChange={(value) => void save({ appearance: { density: value } })}
      />
      <Switch
        label={text.t('appearance.sounds')}
        note={text.t('appearance.sounds.note')}
        checked={hasSounds(settings)}
        onChange={(on) => void save(soundsChange(on))}
      />
    </>
  );
}

export function LanguagePage({ settings, save }: PageProps) {
  const text = useText();
  const languages = LANGUAGES.map((value) => ({
    value: value as string,
    label: LANGUAGE_FACTS[value].name,
  }));
  return (
    <Choice
      label={text.t('settings.language')}
      note={text.t('language.text')}
      options={[{ value: 'system', label: text.t('language.auto') }, ...languages]}
      value={settings.language}
      onChange={(language) => void save({ language })}
    />
  );
}
