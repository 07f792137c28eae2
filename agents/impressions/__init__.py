"""Provisional impressions: what a completed screening and the patient's own words speak for."""
