/** Contents of menus, both of context menus and of menus behind a button. */

import { Icon, type IconName } from '@millrace/shared/ui/icons';
import type * as ContextMenu from '@radix-ui/react-context-menu';
import * as Dropdown from '@radix-ui/react-dropdown-menu';
import type { ReactNode } from 'react';
import { useText } from './context.tsx';

export interface MenuEntry {
  readonly icon: IconName;
  readonly label: string;
  readonly key?: string;
  readonly danger?: boolean;
  readonly run: () => void;
  /** Choices in a submenu; an entry with choices does nothing itself. */
  readonly choices?: readonly MenuChoice[];
}

interface MenuChoice {
  readonly label: string;
  readonly chosen: boolean;
  readonly run: () => void;
}

interface GroupsProps {
  /** Components that menus of this kind are made of. */
  readonly kit: typeof ContextMenu | typeof Dropdown;
  readonly groups: readonly (readonly MenuEntry[])[];
}

export function MenuGroups({ kit, groups }: GroupsProps) {
  // Both kinds have the same components.
  const { Group, Item } = kit as typeof Dropdown;
  return groups
    .filter((entries) => entries.length > 0)
    .map((entries, i) => (
      <Group key={entries[0]?.label ?? i} className="menu-group">
        {entries.map(({ icon, label, key, danger, run, choices }) =>
          choices === undefined ? (
            <Item
              key={label}
              className={`menu-item${danger ? ' danger' : ''}`}
              onSelect={() => run()}
            >
              <Icon name={icon} />
              <span>{label}</span>
              <span className="menu-key">{key}</span>
            </Item>
          ) : (
            <Choices key={label} kit={kit} icon={icon} label={label} choices={choices} />
          ),
        )}
      </Group>
    ));
}

interface ChoicesProps extends Pick<GroupsProps, 'kit'> {
  readonly icon: IconName;
  readonly label: string;
  readonly choices: readonly MenuChoice[];
}

function Choices({ kit, icon, label, choices }: ChoicesProps) {
  const { Sub, SubTrigger, SubContent, Portal, RadioGroup, RadioItem } = kit as typeof Dropdown;
  const chosen = choices.find((choice) => choice.chosen)?.label ?? '';
  return (
    <Sub>
      <SubTrigger className="menu-item">
        <Icon name={icon} />
        <span>{label}</span>
        <span className="menu-key">
          <Icon name="chevron" size={14} />
        </span>
      </SubTrigger>
      <Portal>
        <SubContent className="menu" collisionPadding={8}>
          <RadioGroup value={chosen}>
            {choices.map((choice) => (
              <RadioItem
                key={choice.label}
                value={choice.label}
                className="menu-item"
                onSelect={() => choice.run()}
              >
                {choice.chosen ? <Icon name="check" /> : <span />}
                <span>{choice.label}</span>
              </RadioItem>
            ))}
          </RadioGroup>
        </SubContent>
      </Portal>
    </Sub>
  );
}

interface ButtonMenuProps {
  readonly label: string;
  readonly face: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A menu that a button opens. */
export function ButtonMenu({ label, face, className = 'icon-button', children }: ButtonMenuProps) {
  const { direction } = useText();
  return (
    <Dropdown.Root dir={direction}>
      <Dropdown.Trigger className={className} aria-label={label} title={label}>
        {face}
      </Dropdown.Trigger>
      <Dropdown.Portal>
        <Dropdown.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {children}
        </Dropdown.Content>
      </Dropdown.Portal>
    </Dropdown.Root>
  );
}

/** The menu at the end of the tool bar. */
export function MoreMenu({ groups }: Pick<GroupsProps, 'groups'>) {
  const text = useText();
  return (
    <ButtonMenu label={text.t('bar.more')} face={<Icon name="more" />}>
      <MenuGroups kit={Dropdown} groups={groups} />
    </ButtonMenu>
  );
}
