"""The methods of Table 2 that ConfGCN is compared with: one file each, none importing another."""
